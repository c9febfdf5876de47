import { Button, Group, NativeSelect, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { beginLogin, endLogin, redeemLogin, stateOfLogin } from '../../api/logins.ts';
import type { BegunLogin, LoginStep, LoginToken, NewLogin, RouteView } from '../../api/types.ts';
import { Failure } from '../../parts/Failure.tsx';
import { Note } from '../../parts/Note.tsx';
import { ValueTree } from '../../parts/ValueTree.tsx';

/** The page asks this often whether the browser has come back from the issuer. */
const pollMs = 1_000;

interface Form {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scopes: string;
}

/** Logs a user in at an issuer of the route, and shows each step as an MCP client takes it. */
export function GuidedLogin(props: {
  route: RouteView;
  issuers: readonly string[];
  onToken: (token: string) => void;
  /** The form is open at first. */
  isOpen: boolean;
}) {
  const { route, issuers, onToken, isOpen } = props;
  const [form, setForm] = useState<Form>({
    issuer: issuers[0] ?? '',
    clientId: '',
    clientSecret: '',
    scopes: '',
  });
  const set = (name: keyof Form) => (event: { currentTarget: { value: string } }) =>
    setForm({ ...form, [name]: event.currentTarget.value });
  const begin = useMutation({ mutationFn: () => beginLogin(route.id, bodyOf(form)) });
  return (
    <details open={isOpen}>
      <summary>Log in at the issuer</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          begin.mutate();
        }}
      >
        <Stack gap="xs" mt="xs">
          <Group align="end">
            {issuers.length > 1 && (
              <NativeSelect label="Issuer" data={[...issuers]} value={form.issuer} onChange={set('issuer')} />
            )}
            <TextInput
              label="Client id"
              description="Blank: the gateway registers a client."
              value={form.clientId}
              onChange={set('clientId')}
            />
            <PasswordInput
              label="Client secret"
              description="Blank: a public client."
              w={220}
              autoComplete="off"
              value={form.clientSecret}
              onChange={set('clientSecret')}
            />
            <TextInput
              label="Scopes"
              description="Blank: those that the route names."
              value={form.scopes}
              onChange={set('scopes')}
            />
          </Group>
          <p className="quiet" style={{ margin: 0 }}>
            The address of the callback is{' '}
            <span className="mono">{location.origin}/ui/playground/callback</span>.
          </p>
          <div>
            <Button type="submit" variant="default" loading={begin.isPending}>
              Begin the login
            </Button>
          </div>
        </Stack>
      </form>
      {begin.error !== null && <Failure error={begin.error} doing="The login" />}
      {begin.data !== undefined && <Steps key={begin.submittedAt} begun={begin.data} onToken={onToken} />}
    </details>
  );
}

/** Blank fields are left out. */
const bodyOf = ({ issuer, clientId, clientSecret, scopes }: Form): NewLogin => ({
  issuer,
  ...(clientId.trim() !== '' && { clientId: clientId.trim() }),
  ...(clientSecret !== '' && { clientSecret }),
  ...(scopes.trim() !== '' && { scopes: scopes.trim().split(/\s+/) }),
});

const titles: Readonly<Record<LoginStep['step'], string>> = {
  resource: 'Metadata of the route (RFC 9728)',
  server: 'Metadata of the authorization server (RFC 8414)',
  client: 'Client (RFC 7591)',
  authorization: 'Authorization request with PKCE (RFC 7636)',
};

function Steps({
  begun: { steps, login },
  onToken,
}: {
  begun: BegunLogin;
  onToken: (token: string) => void;
}) {
  return (
    <ol className="steps" aria-label="Steps of the login">
      {steps.map(({ step, url, value, warning, problem }) => (
        <li key={step}>
          <details>
            <summary>
              {titles[step]} {problem !== undefined && <strong>failed</strong>}
            </summary>
            {url !== undefined && <p className="mono wrap">{url}</p>}
            {value !== undefined && <ValueTree value={value} label={titles[step]} />}
          </details>
          {warning !== undefined && <Note tone="warn">{warning}</Note>}
          {problem !== undefined && <Note tone="bad">{problem}</Note>}
        </li>
      ))}
      {login !== null && <Return login={login} onToken={onToken} />}
    </ol>
  );
}

/** Waits for the browser, then for the token. */
function Return(props: { login: NonNullable<BegunLogin['login']>; onToken: (token: string) => void }) {
  const { login, onToken } = props;
  const isOpen = useRef(true);
  const redeem = useMutation({
    mutationFn: () => {
      // The exchange ends the login.
      isOpen.current = false;
      return redeemLogin(login.id);
    },
    onSuccess: ({ accessToken }) => onToken(accessToken),
  });
  const { mutate, isIdle } = redeem;
  const state = useQuery({
    queryKey: ['login', login.id],
    queryFn: () => stateOfLogin(login.id),
    refetchInterval: ({ state: { error } }) => (isIdle && error === null ? pollMs : false),
    refetchIntervalInBackground: true,
    enabled: isIdle,
    gcTime: 0,
  });
  const hasReturned = state.data?.state === 'returned';
  useEffect(() => {
    if (hasReturned && isIdle) mutate();
  }, [hasReturned, isIdle, mutate]);
  useEffect(
    // A login that has ended by itself is no matter.
    () => () => void (isOpen.current && endLogin(login.id).catch(() => undefined)),
    [login.id],
  );
  return (
    <>
      <li>
        <Button
          component="a"
          href={login.authorizeUrl}
          target="_blank"
          rel="noopener noreferrer"
          size="compact-sm"
        >
          Go to {new URL(login.authorizeUrl).host}
        </Button>{' '}
        <span role="status">
          {hasReturned ? 'The issuer has answered.' : 'Waiting for the answer of the issuer.'}
        </span>
        {state.error !== null && <Failure error={state.error} doing="The login" />}
      </li>
      {redeem.error !== null && (
        <li>
          <Failure error={redeem.error} doing="The exchange of the code" />
        </li>
      )}
      {redeem.data !== undefined && <TokenStep token={redeem.data} />}
    </>
  );
}

const TokenStep = ({ token: { expiresIn, scope, hasRefreshToken } }: { token: LoginToken }) => (
  <li>
    <span role="status">
      Token received
      {expiresIn !== undefined && `, for ${Math.round(expiresIn)} s`}
      {scope !== undefined && (
        <>
          , with the scope <span className="mono">{scope}</span>
        </>
      )}
      .{hasRefreshToken && ' The gateway dropped the refresh token.'}
    </span>
  </li>
);
