import { PasswordInput, Stack } from '@mantine/core';
import type { RouteView } from '../../api/types.ts';
import { credentialNames } from '../../connect/credentials.ts';
import { Note } from '../../parts/Note.tsx';
import { ValueTree } from '../../parts/ValueTree.tsx';
import { decodeToken, readableClaims } from './decodeToken.ts';
import { GuidedLogin } from './GuidedLogin.tsx';

/** The credential of the caller: a token, pasted or got by a login, a key, or a user with a password. */
export function TokenFields(props: {
  route: RouteView;
  token: string;
  onToken: (token: string) => void;
  /** A session is open, so the token has done its work. */
  isUsed?: boolean;
  /** The route demands a login. */
  needsLogin?: boolean;
}) {
  const { route, token, onToken, isUsed = false, needsLogin = false } = props;
  const { authentication } = route;
  return (
    <Stack gap="xs">
      {authentication !== null && authentication.header === undefined && (
        <Note tone="info">The route takes the credential from a place that the page cannot fill.</Note>
      )}
      <PasswordInput
        label={credentialNames[authentication?.credential ?? 'token']}
        description="The page keeps it in memory only."
        maw={420}
        autoComplete="off"
        value={token}
        onChange={({ currentTarget }) => onToken(currentTarget.value)}
      />
      {authentication?.byToken === true && (
        <Decoded key={String(isUsed)} token={token.trim()} isOpen={!isUsed} />
      )}
      {authentication !== null && authentication.byToken && authentication.issuers.length > 0 && (
        <>
          {needsLogin && (
            <Note tone="warn">The route demands a valid token. Log in at the issuer, or paste a token.</Note>
          )}
          <GuidedLogin
            key={String(needsLogin)}
            route={route}
            issuers={authentication.issuers}
            onToken={onToken}
            isOpen={needsLogin}
          />
        </>
      )}
    </Stack>
  );
}

function Decoded({ token, isOpen }: { token: string; isOpen: boolean }) {
  const decoded = decodeToken(token);
  if (decoded === undefined) return null;
  const { header, claims } = decoded;
  return (
    <details open={isOpen}>
      <summary>Decoded token</summary>
      <ValueTree value={{ header, claims: readableClaims(claims) }} label="Header and claims" />
    </details>
  );
}
