import { PasswordInput, Stack } from '@mantine/core';
import type { RouteView } from '../../api/types.ts';
import { ValueTree } from '../../parts/ValueTree.tsx';
import { decodeToken, readableClaims } from './decodeToken.ts';
import { GuidedLogin } from './GuidedLogin.tsx';

/** The token of the caller: pasted, or got by a login. */
export function TokenFields(props: { route: RouteView; token: string; onToken: (token: string) => void }) {
  const { route, token, onToken } = props;
  const { authentication } = route;
  return (
    <Stack gap="xs">
      <PasswordInput
        label="Token"
        description="The page keeps it in memory only."
        maw={420}
        autoComplete="off"
        value={token}
        onChange={({ currentTarget }) => onToken(currentTarget.value)}
      />
      <Decoded token={token.trim()} />
      {authentication !== null && authentication.byToken && authentication.issuers.length > 0 && (
        <GuidedLogin route={route} issuers={authentication.issuers} onToken={onToken} />
      )}
    </Stack>
  );
}

function Decoded({ token }: { token: string }) {
  const decoded = decodeToken(token);
  if (decoded === undefined) return null;
  const { header, claims } = decoded;
  return (
    <details open>
      <summary>Decoded token</summary>
      <ValueTree value={{ header, claims: readableClaims(claims) }} label="Header and claims" />
    </details>
  );
}
