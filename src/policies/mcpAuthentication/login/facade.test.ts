import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { setDefaultCACertificates } from 'node:tls';
import { guardedFetch, TextSeal, type IssuerMetadata } from '../../../auth/index.ts';
import { jsonAnswer, startLoopback } from '../../../auth/loopback.testing.ts';
import { GatewayError } from '../../../errors.ts';
import type { HeaderLine, Reply } from '../../../http/index.ts';
import { FakeExchange, type FakeRequest } from '../../exchange.testing.ts';
import type { PolicyTools } from '../../policy.ts';
import { authority } from '../../../proxy/certificates.testing.ts';
import { toolsWith } from '../../tools.testing.ts';
import { until } from '../../../until.testing.ts';
import { LoginFacade } from './facade.ts';

const place = { origin: 'http://gateway.test', path: '/mcp' };
const sealingKey = 'a key that replicas share';
const shared = {
  issuer: 'https://login.test',
  clientId: 'gateway',
  clientSecret: undefined,
  audience: undefined,
  scopes: [],
  offeredScopes: [],
};

for (const guarded of [true, false])
  test(`${guarded ? 'a GatewayPolicy' : 'a file'} ${guarded ? 'cannot have' : 'has'} the gateway call a token endpoint on its own machine`, async (t) => {
    const provider = await startLoopback(jsonAnswer({ access_token: 'token', token_type: 'Bearer' }));
    t.after(() => provider.close());
    const tools = { ...toolsWith([]), sealingKey, fetch: guarded ? guardedFetch() : fetch };
    const facade = new LoginFacade(
      {
        issuer: provider.url,
        clientId: 'gateway',
        clientSecret: 'gateway-secret',
        audience: undefined,
        scopes: [],
        offeredScopes: [],
      },
      { registers: true, documents: undefined },
      {
        get: () => Promise.resolve({ issuer: provider.url, token_endpoint: `${provider.url}/token` }),
        close: () => undefined,
      },
      tools,
    );
    t.after(() => facade.close());
    // Another replica has sealed what the client carries.
    const whose = JSON.stringify(['login', provider.url, 'gateway', null]);
    const seal = new TextSeal(sealingKey, whose);
    const client = seal.seal('client', { name: 'Editor', redirectUris: ['http://127.0.0.1/'] });
    const bound = createHash('sha256').update(client).digest('base64url');
    const body = new URLSearchParams({
      grant_type: 'refresh_token',
      client_id: client,
      refresh_token: seal.seal('refresh', { client: bound, token: 'of the provider' }),
    });
    const exchange = new FakeExchange({ method: 'POST', body: body.toString() });
    const answer = await facade.answer(exchange, 'mcp-login-token', place);
    assert.equal(answer?.status, guarded ? 502 : 200, String(answer?.body));
    assert.deepEqual(provider.asked, guarded ? [] : ['/token']);
  });

test('what a client carries is worth nothing at another provider, another client or another tenant', async () => {
  const metadata = { get: () => Promise.resolve(undefined), close: () => undefined };
  const answerOf = async (changes: Partial<typeof shared>, tenant: string, id: string): Promise<unknown> => {
    const tools = { ...toolsWith([]), sealingKey, tenant };
    const facade = new LoginFacade(
      { ...shared, ...changes },
      { registers: true, documents: undefined },
      metadata,
      tools,
    );
    const body = id === '' ? '{"redirect_uris":["http://127.0.0.1/"]}' : `client_id=${id}`;
    const name = id === '' ? 'mcp-login-register' : 'mcp-login-token';
    const answer = await facade.answer(new FakeExchange({ method: 'POST', body }), name, place);
    facade.close();
    return JSON.parse(String(answer?.body));
  };
  const { client_id: id } = (await answerOf({}, 'shop', '')) as { readonly client_id: string };
  const errorOf = async (changes: Partial<typeof shared>, tenant: string): Promise<string> =>
    ((await answerOf(changes, tenant, id)) as { readonly error: string }).error;
  assert.equal(await errorOf({}, 'shop'), 'unsupported_grant_type', 'the client is known');
  assert.equal(await errorOf({ issuer: 'https://evil.test' }, 'shop'), 'invalid_client');
  assert.equal(await errorOf({ clientId: 'other' }, 'shop'), 'invalid_client');
  assert.equal(await errorOf({}, 'stranger'), 'invalid_client');
});

const verifier = 'v'.repeat(43);
const redirect_uri = 'http://127.0.0.1:33418/callback';

/** A facade of a provider, and a client that logs in at it. */
function stageOf(issuer: string, tools: PolicyTools, isKnown = () => true, changes = {}) {
  const metadata = {
    get: () =>
      Promise.resolve(
        isKnown()
          ? { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` }
          : undefined,
      ),
    close: () => undefined,
  };
  const sources = { registers: true, documents: undefined };
  const facade = new LoginFacade({ ...shared, issuer, ...changes }, sources, metadata, tools);
  const ask = async (name: string, fake: FakeRequest, at = place): Promise<Reply> => {
    const reply = await facade.answer(new FakeExchange(fake), name, at);
    assert.ok(reply !== undefined, name);
    return reply;
  };
  const register = async (client_name?: string): Promise<string> => {
    const reply = await ask('mcp-login-register', {
      method: 'POST',
      body: JSON.stringify({ redirect_uris: [redirect_uri], client_name }),
    });
    return (JSON.parse(String(reply.body)) as { readonly client_id: string }).client_id;
  };
  const authorize = (client_id: string, changes: Record<string, string> = {}, more = ''): Promise<Reply> => {
    const query = new URLSearchParams({
      client_id,
      response_type: 'code',
      redirect_uri,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...changes,
    });
    return ask('mcp-login-authorize', { target: `/?${query.toString()}${more}` });
  };
  /** The user allows the client. @returns the cookie of the browser, and the state at the provider */
  const consent = async (client: string, at = place) => {
    const page = await authorize(client);
    const cookie = new Map(page.headers).get('set-cookie')?.split(';')[0] ?? '';
    const [, request = ''] = /name="request" value="([^"]*)"/.exec(String(page.body)) ?? [];
    const headers: HeaderLine[] = [['cookie', cookie]];
    const body = new URLSearchParams({ request, decision: 'allow' }).toString();
    const sent = await ask('mcp-login-authorize', { method: 'POST', headers, body }, at);
    return { headers, sent, state: parameterOf(sent, 'state') };
  };
  /** The provider sends the browser back. */
  const back = (
    { headers, state }: Awaited<ReturnType<typeof consent>>,
    code: string,
    at = place,
  ): Promise<Reply> => {
    const query = new URLSearchParams({ state, code });
    return ask('mcp-login-callback', { headers, target: `/?${query.toString()}` }, at);
  };
  const callback = async (client: string, at = place): Promise<Reply> =>
    back(await consent(client), 'of the provider', at);
  const redeem = (
    client_id: string,
    code: string,
    changes: Record<string, string> = {},
    at = place,
    remoteAddress = '192.0.2.1',
  ): Promise<Reply> => {
    const grant = {
      grant_type: 'authorization_code',
      client_id,
      code,
      code_verifier: verifier,
      redirect_uri,
    };
    const body = new URLSearchParams({ ...grant, ...changes }).toString();
    return ask('mcp-login-token', { method: 'POST', body, remoteAddress }, at);
  };
  return { facade, register, authorize, consent, back, callback, redeem };
}

const parameterOf = ({ headers }: Reply, name: string): string =>
  URL.parse(new Map(headers).get('location') ?? '')?.searchParams.get(name) ?? '';
const errorIn = ({ body }: Reply): unknown => (JSON.parse(String(body)) as { readonly error?: string }).error;

test('clients and refresh tokens stay good when another route takes the name of theirs', async (t) => {
  const granted = { access_token: 'token', token_type: 'Bearer', refresh_token: 'of the provider' };
  const provider = await startLoopback(jsonAnswer(granted));
  t.after(() => provider.close());
  const [before, after] = ['route0', 'route1'].map((name) =>
    stageOf(provider.url, { ...toolsWith([]), sealingKey, place: name }),
  );
  assert.ok(before !== undefined && after !== undefined);
  const client = await before.register();
  const tokens = await before.redeem(client, parameterOf(await before.callback(client), 'code'));
  const { refresh_token } = JSON.parse(String(tokens.body)) as { readonly refresh_token: string };
  const renewed = await after.redeem(client, '', { grant_type: 'refresh_token', refresh_token });
  assert.equal(renewed.status, 200, String(renewed.body));
  assert.equal((await after.authorize(client)).status, 200);
  before.facade.close();
  after.facade.close();
});

test('a login that began at one resource does not go on at another one of the same client', async () => {
  const stage = stageOf(shared.issuer, { ...toolsWith([]), sealingKey });
  const other = { ...place, path: '/other' };
  const client = await stage.register();
  assert.equal((await stage.consent(client)).sent.status, 303);
  assert.equal((await stage.consent(client, other)).sent.status, 400, 'the consent');
  assert.equal((await stage.callback(client, other)).status, 400, 'the callback');
  const code = parameterOf(await stage.callback(client), 'code');
  assert.notEqual(code, '');
  assert.equal(errorIn(await stage.redeem(client, code, {}, other)), 'invalid_grant');
  stage.facade.close();
});

test('a login asks the provider for tokens once, however often its code and its callback are repeated', async (t) => {
  const provider = await startLoopback(jsonAnswer({ error: 'invalid_grant' }));
  t.after(() => provider.close());
  const stage = stageOf(provider.url, { ...toolsWith([]), sealingKey });
  t.after(() => stage.facade.close());
  const client = await stage.register();
  const consent = await stage.consent(client);
  const [code, sibling] = await Promise.all(
    ['a', 'b'].map(async (made) => parameterOf(await stage.back(consent, made), 'code')),
  );
  assert.ok(code !== undefined && sibling !== undefined && code !== sibling);
  const wrong = await stage.redeem(client, code, { code_verifier: 'w'.repeat(43) });
  assert.deepEqual([errorIn(wrong), provider.asked.length], ['invalid_grant', 0]);
  for (const repeated of [code, code, `${code}=`, sibling])
    assert.equal(errorIn(await stage.redeem(client, repeated)), 'invalid_grant');
  assert.deepEqual(provider.asked, ['/token']);
});

test('a code stays good where the provider was not asked, and is lost where it was', async (t) => {
  let isDown = true;
  const provider = await startLoopback((request, response) => {
    if (isDown) request.socket.destroy();
    else jsonAnswer({ access_token: 'token', token_type: 'Bearer' })(request, response);
  });
  t.after(() => provider.close());
  const tools = { ...toolsWith([]), sealingKey };
  let isKnown = false;
  const stage = stageOf(provider.url, tools, () => isKnown);
  t.after(() => stage.facade.close());
  const client = await stage.register();
  isKnown = true;
  const code = parameterOf(await stage.callback(client), 'code');
  const lost = parameterOf(await stage.callback(client), 'code');
  isKnown = false;
  assert.equal((await stage.redeem(client, code)).status, 503);
  isKnown = true;
  assert.equal((await stage.redeem(client, lost)).status, 502);
  isDown = false;
  assert.equal((await stage.redeem(client, code)).status, 200);
  assert.equal(errorIn(await stage.redeem(client, lost)), 'invalid_grant');
});

test('a client has a limit of calls in progress at the provider, which others do not feel', async (t) => {
  const answers: (() => void)[] = [];
  const arrived = Promise.withResolvers<void>();
  const provider = await startLoopback((request, response) => {
    answers.push(() => jsonAnswer({ access_token: 'token', token_type: 'Bearer' })(request, response));
    if (answers.length === 33) arrived.resolve();
  });
  t.after(() => provider.close());
  const stage = stageOf(provider.url, { ...toolsWith([]), sealingKey });
  t.after(() => stage.facade.close());
  const client = await stage.register();
  const codes = await Promise.all(
    Array.from({ length: 34 }, async () => parameterOf(await stage.callback(client), 'code')),
  );
  const [other = '', last = '', ...most] = codes;
  const calls = most.map((code) => stage.redeem(client, code));
  const refused = await stage.redeem(client, last);
  assert.deepEqual([refused.status, errorIn(refused)], [503, 'temporarily_unavailable']);
  assert.equal(new Map(refused.headers).get('retry-after'), '1');
  calls.push(stage.redeem(client, other, {}, place, '198.51.100.7'));
  await arrived.promise;
  for (const answer of answers.splice(0)) answer();
  assert.deepEqual(new Set((await Promise.all(calls)).map(({ status }) => status)), new Set([200]));
  const again = stage.redeem(client, last);
  await until('the call', () => answers.length === 1);
  answers[0]?.();
  assert.equal((await again).status, 200, 'the refused code stayed good');
});

test('parameters without a value count as omitted, and a token request needs no redirect_uri', async (t) => {
  const provider = await startLoopback(jsonAnswer({ access_token: 'token', token_type: 'Bearer' }));
  t.after(() => provider.close());
  const stage = stageOf(provider.url, { ...toolsWith([]), sealingKey });
  t.after(() => stage.facade.close());
  const client = await stage.register();
  const page = await stage.authorize(client, { state: '', resource: '', scope: '' });
  assert.equal(page.status, 200, String(page.body));
  assert.equal(
    new URL(new Map((await stage.callback(client)).headers).get('location') ?? '').searchParams.has('state'),
    false,
  );
  for (const redirect_uri of ['', 'http://127.0.0.1:1/other']) {
    const code = parameterOf(await stage.callback(client), 'code');
    const reply = await stage.redeem(client, code, { redirect_uri });
    assert.equal(reply.status, redirect_uri === '' ? 200 : 400, String(reply.body));
  }
});

test('a parameter that comes twice is an error, unless it names the same resource', async () => {
  const stage = stageOf(shared.issuer, { ...toolsWith([]), sealingKey });
  const client = await stage.register();
  for (const name of ['response_type', 'code_challenge', 'code_challenge_method', 'state', 'scope'])
    assert.equal(
      parameterOf(await stage.authorize(client, {}, `&${name}=code&${name}=x`), 'error'),
      'invalid_request',
    );
  const own = `&resource=${encodeURIComponent(`${place.origin}${place.path}`)}`;
  assert.equal((await stage.authorize(client, {}, own + own)).status, 200);
  const other = await stage.authorize(client, {}, `${own}&resource=https://other.test/`);
  assert.equal(parameterOf(other, 'error'), 'invalid_target');
  assert.equal((await stage.authorize(client, {}, '&client_id=x')).status, 400);
  stage.facade.close();
});

test('a client gets only scopes that the gateway offers, at a login and at a refresh', async (t) => {
  const granted = { access_token: 'token', token_type: 'Bearer', refresh_token: 'of the provider' };
  const provider = await startLoopback(jsonAnswer(granted));
  t.after(() => provider.close());
  const offer = { scopes: ['api://mcp/use'], offeredScopes: ['api://mcp/use', 'offline_access'] };
  const stage = stageOf(provider.url, { ...toolsWith([]), sealingKey }, undefined, offer);
  t.after(() => stage.facade.close());
  const client = await stage.register();
  for (const scope of ['https://vault.test/.default', 'api://mcp/use Mail.ReadWrite', 'openid'])
    assert.equal(parameterOf(await stage.authorize(client, { scope }), 'error'), 'invalid_scope', scope);
  assert.equal((await stage.authorize(client, { scope: 'offline_access api://mcp/use' })).status, 200);
  const code = parameterOf(await stage.callback(client), 'code');
  const tokens = JSON.parse(String((await stage.redeem(client, code)).body)) as {
    readonly refresh_token: string;
  };
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token };
  const asked = provider.asked.length;
  const other = await stage.redeem(client, '', { ...refresh, scope: 'https://vault.test/.default' });
  assert.deepEqual([other.status, errorIn(other)], [400, 'invalid_scope']);
  assert.equal(provider.asked.length, asked, 'the provider was not asked');
  assert.equal((await stage.redeem(client, '', { ...refresh, scope: 'api://mcp/use' })).status, 200);
});

test('a client may repeat at a refresh what the provider has granted beyond its request', async (t) => {
  let answered = { access_token: 'token', token_type: 'Bearer', refresh_token: '1', scope: 'email mcp:use' };
  const provider = await startLoopback((request, response) => jsonAnswer(answered)(request, response));
  t.after(() => provider.close());
  const offer = { scopes: ['mcp:use'], offeredScopes: ['mcp:use'] };
  const stage = stageOf(provider.url, { ...toolsWith([]), sealingKey }, undefined, offer);
  t.after(() => stage.facade.close());
  const client = await stage.register();
  const refreshTokenOf = ({ body }: Reply): string =>
    (JSON.parse(String(body)) as { readonly refresh_token: string }).refresh_token;
  const code = parameterOf(await stage.callback(client), 'code');
  let refresh_token = refreshTokenOf(await stage.redeem(client, code));
  const refresh = (scope: string): Promise<Reply> =>
    stage.redeem(client, '', { grant_type: 'refresh_token', refresh_token, scope });
  // A narrower answer does not end what the login has granted.
  answered = { ...answered, refresh_token: '2', scope: 'mcp:use' };
  for (const scope of ['mcp:use', 'email mcp:use']) {
    const renewed = await refresh(scope);
    assert.equal(renewed.status, 200, String(renewed.body));
    refresh_token = refreshTokenOf(renewed);
  }
  assert.equal(errorIn(await refresh('email Mail.ReadWrite')), 'invalid_scope');
  assert.equal(parameterOf(await stage.authorize(client, { scope: 'email' }), 'error'), 'invalid_scope');
});

test('the consent page names the scopes that the client gets', async () => {
  const stage = stageOf(shared.issuer, { ...toolsWith([]), sealingKey });
  const client = await stage.register();
  const { body } = await stage.authorize(client, { scope: 'Mail.ReadWrite <b>use' });
  assert.match(String(body), /<li><b><bdi>Mail\.ReadWrite<.*<bdi>&#60;b&#62;use</);
  assert.doesNotMatch(String((await stage.authorize(client)).body), /permissions/);
  stage.facade.close();
});

test('a client whose name nobody can see is shown as an MCP client', async () => {
  const stage = stageOf(shared.issuer, { ...toolsWith([]), sealingKey });
  for (const name of ['', ' ', '\u200b\u200e', '\u3164'])
    assert.match(
      String((await stage.authorize(await stage.register(name))).body),
      /<bdi>An MCP client<\/bdi>/,
    );
  stage.facade.close();
});

/** A facade whose provider gives no metadata, and what another replica has sealed for a client of it. */
function facadeAlone(metadata: IssuerMetadata) {
  const tools = { ...toolsWith([]), sealingKey };
  const facade = new LoginFacade(shared, { registers: true, documents: undefined }, metadata, tools);
  const seal = new TextSeal(sealingKey, JSON.stringify(['login', shared.issuer, 'gateway', null]));
  return { facade, seal };
}
const noMetadata: IssuerMetadata = { get: () => Promise.resolve(undefined), close: () => undefined };

test('pages can read that the provider is down, or that a registration is too large', async () => {
  const { facade, seal } = facadeAlone(noMetadata);
  const client = seal.seal('client', { name: 'Editor', redirectUris: ['http://127.0.0.1/'] });
  const bound = createHash('sha256').update(client).digest('base64url');
  const refresh_token = seal.seal('refresh', { client: bound, token: 'of the provider' });
  const form = new URLSearchParams({ grant_type: 'refresh_token', client_id: client, refresh_token });
  const refresh = new FakeExchange({ method: 'POST', body: form.toString() });
  const registration = new FakeExchange({ method: 'POST' });
  registration.request.readBody = () => Promise.reject(new GatewayError('body_too_large'));
  for (const [exchange, endpoint, status, error] of [
    [refresh, 'mcp-login-token', 503, 'temporarily_unavailable'],
    [registration, 'mcp-login-register', 413, 'invalid_request'],
  ] as const) {
    const reply = await facade.answer(exchange, endpoint, place);
    const headers = new Map(reply?.headers);
    assert.equal(reply?.status, status);
    assert.equal(headers.get('access-control-allow-origin'), '*');
    assert.equal((JSON.parse(String(reply.body)) as { error: string }).error, error);
    assert.equal(headers.get('retry-after'), status === 503 ? '5' : undefined);
  }
  facade.close();
});

test('the query of a redirect URI comes back as the client has registered it', async () => {
  const { facade, seal } = facadeAlone(noMetadata);
  for (const [redirectUri, begin] of [
    ['http://127.0.0.1/cb?x=a%20b&flag', 'http://127.0.0.1/cb?x=a%20b&flag&'],
    ['http://127.0.0.1/cb', 'http://127.0.0.1/cb?'],
    ['app:cb?', 'app:cb?'],
  ] as const) {
    const client_id = seal.seal('client', { name: 'Editor', redirectUris: [redirectUri] });
    const query = new URLSearchParams({ client_id, redirect_uri: redirectUri, state: 's t' });
    const exchange = new FakeExchange({ target: `/?${query.toString()}` });
    const reply = await facade.answer(exchange, 'mcp-login-authorize', place);
    const added = 'error=unsupported_response_type&state=s+t&iss=http%3A%2F%2Fgateway.test%2Fmcp';
    assert.equal(new Map(reply?.headers).get('location'), begin + added);
  }
  facade.close();
});

test('requests of one network cannot keep the document of a client of another network from being read', async (t) => {
  const ca = authority();
  setDefaultCACertificates([ca.cert]);
  const released = Promise.withResolvers<undefined>();
  const server = await startLoopback(
    (request, response) => {
      const client_id = `https://localhost:${server.port}${request.url}`;
      const document = { client_id, redirect_uris: ['http://127.0.0.1/'] };
      void released.promise.then(() => jsonAnswer(document)(request, response));
    },
    0,
    ca.issue({ names: ['localhost'] }),
  );
  t.after(() => server.close());
  const documents = { hosts: ['localhost'], networks: ['127.0.0.0/8', '::1'] };
  const tools = { ...toolsWith([]), sealingKey };
  const facade = new LoginFacade(shared, { registers: false, documents }, noMetadata, tools);
  t.after(() => facade.close());
  const authorize = async (number: number, remoteAddress: string): Promise<string> => {
    const id = encodeURIComponent(`https://localhost:${server.port}/client?${number}`);
    const exchange = new FakeExchange({ target: `/?client_id=${id}`, remoteAddress });
    return String((await facade.answer(exchange, 'mcp-login-authorize', place))?.body);
  };
  const strangers = Array.from({ length: 21 }, (_, number) => authorize(number, `2001:db8::${number}`));
  await until('four reads to wait for the server', () => server.asked.length === 4);
  const client = authorize(21, '198.51.100.1');
  released.resolve(undefined);
  assert.match(await client, /address that it has not registered/, 'the gateway knows the client');
  const refused = (await Promise.all(strangers)).filter((page) => page.includes('cannot use the metadata'));
  assert.equal(refused.length, 1, 'the line of a network has an end');
});
