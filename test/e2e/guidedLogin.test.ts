/** The playground logs an operator in at the issuers of a route, and at no others. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { openBrowser, type Browser } from '../../apps/dev-idp/src/browser.testing.ts';
import { startDevIdp, type DevIdp } from '../../apps/dev-idp/src/index.ts';
import { until } from '../../src/until.testing.ts';
import { begunLogin, loginToken } from '../../src/admin/api/shapes.ts';
import { browserOf, firstLinkOf, newLink, operatorOf, type ApiClient } from './adminApi.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { ask } from './http.testing.ts';
import { audience, authentication, group, inline, startIdp } from './stage.testing.ts';

/** An issuer whose metadata a test writes. */
const answers = { body: '', location: '' };
/** Responses that wait; undefined: the issuer answers at once. */
let held: ServerResponse[] | undefined;
const strange = createServer((_, response) => {
  if (held !== undefined) held.push(response);
  else if (answers.location === '') response.setHeader('content-type', 'application/json').end(answers.body);
  else response.writeHead(302, { location: answers.location }).end();
});
let strangeIssuer = '';
let idp: DevIdp;
/** It registers no clients; it knows the one of the gateway, and one that an operator has registered. */
let closedIdp: DevIdp;
let gateway: GatewayProcess;
let operator: ApiClient;

before(async () => {
  strange.listen(0, '127.0.0.1');
  await once(strange, 'listening');
  strangeIssuer = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
  idp = await startIdp();
  closedIdp = await startDevIdp({
    port: 0,
    config: {
      audience,
      scopes: ['mcp'],
      clients: [
        {
          id: 'shared',
          secret: 'shared-secret',
          redirectUris: ['http://localhost/.well-known/mcp-login-callback/shared'],
        },
        { id: 'typed', secret: 'typed-secret', redirectUris: ['http://127.0.0.1/ui/playground/callback'] },
      ],
      users: [{ name: 'alice', groups: [group] }],
      registration: { enabled: false },
    },
  });
  const route = (name: string, policies: object): string => `
    - name: ${name}
      matches: [{ path: { pathPrefix: /${name} } }]
      policies: ${inline({ ...policies, directResponse: { status: 200, body: 'let in' } })}`;
  const jwt = ({ issuer }: { issuer: string }) => ({
    mode: 'strict',
    issuer,
    audiences: [audience],
    jwks: { url: `${issuer}/v1/keys` },
  });
  gateway = await startGateway(`
config: { logging: { level: debug, accessLog: json } }
binds:
- port: 0
  listeners:
  - name: public
    routes:${route('tools', {
      mcpAuthentication: authentication(idp, { resourceMetadata: { scopesSupported: ['mcp'] } }),
    })}${route('app', { jwtAuth: jwt(closedIdp) })}${route('strange', {
      jwtAuth: { ...jwt({ issuer: strangeIssuer }), jwks: { inline: '{"keys":[]}' } },
    })}${route('shared', {
      mcpAuthentication: authentication(closedIdp, {
        clientId: 'shared',
        clientSecret: 'shared-secret',
        authorization: undefined,
      }),
    })}${route('open', {})}
`);
  await gateway.keysReady();
  operator = operatorOf(gateway);
});
after(async () => {
  await gateway?.stop();
  await Promise.all([idp?.close(), closedIdp?.close()]);
  strange.closeAllConnections();
  strange.close();
});

/** The answers have the shapes that the description of the API shows. */
const tokenIn = (json: unknown): string => loginToken.parse(json).accessToken;

interface Step {
  readonly step: string;
  readonly url?: string;
  readonly value?: Readonly<Record<string, unknown>>;
  readonly warning?: string;
  readonly problem?: string;
}

interface Begun {
  readonly steps: readonly Step[];
  readonly login: { readonly id: string; readonly authorizeUrl: string } | null;
}

const pathOf = (route: string): string => `/api/v1/playground/${encodeURIComponent(`0#0/public/${route}`)}`;

async function begin(route: string, body: object = {}, by: ApiClient = operator): Promise<Begun> {
  const { status, json } = await by('POST', `${pathOf(route)}/login`, body);
  assert.equal(status, 200, JSON.stringify(json));
  begunLogin.parse(json);
  return json as Begun;
}

const started = ({ login, steps }: Begun): { readonly id: string; readonly authorizeUrl: string } =>
  login ?? assert.fail(JSON.stringify(steps));

/** Logs in at the page of the issuer. @returns the address of the callback */
async function logIn(browser: Browser, authorizeUrl: string, user: string): Promise<string> {
  const page = await browser.get(authorizeUrl);
  assert.equal(page.status, 200, page.body);
  return (await browser.post(page.url, { user })).url;
}

/** Follows the redirect of an issuer of another site. */
const comeBack = async (url: string, headers: Readonly<Record<string, string>> = {}): Promise<number> => {
  const navigation = {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  return (await ask(url, { headers: { ...navigation, ...headers } })).status;
};

const statusWith = async (route: string, token: string): Promise<number> => {
  const asked = { method: 'GET', path: `/${route}`, headers: { authorization: `Bearer ${token}` } };
  return ((await operator('POST', pathOf(route), asked)).json as { status: number }).status;
};

test('an operator logs in at the issuer of a route, step by step, and uses the token', async () => {
  const begun = await begin('tools');
  assert.deepEqual(
    begun.steps.map(({ step, problem, warning }) => [step, problem ?? warning]),
    [
      ['resource', undefined],
      ['server', undefined],
      ['client', undefined],
      ['authorization', undefined],
    ],
  );
  const [resource, server, , authorization] = begun.steps;
  assert.deepEqual(resource?.value?.['authorization_servers'], [idp.issuer]);
  assert.equal(server?.value?.['issuer'], idp.issuer);
  assert.deepEqual(
    [
      authorization?.value?.['scope'],
      authorization?.value?.['resource'],
      authorization?.value?.['code_challenge_method'],
    ],
    ['mcp', resource?.value?.['resource'], 'S256'],
  );
  const { id, authorizeUrl } = started(begun);
  const state = async (): Promise<unknown> => (await operator('GET', `/api/v1/logins/${id}`)).json;
  assert.deepEqual(await state(), { state: 'waiting' });
  assert.equal((await operator('POST', `/api/v1/logins/${id}/token`)).status, 409);

  const back = await logIn(openBrowser(idp.url), authorizeUrl, 'alice');
  assert.ok(back.startsWith(`${gateway.admin}/ui/playground/callback?code=`), back);
  assert.equal(await comeBack(back), 200);
  assert.equal(await comeBack(back), 400, 'a callback is good once');
  assert.deepEqual(await state(), { state: 'returned' });
  const { status, json } = await operator('POST', `/api/v1/logins/${id}/token`);
  assert.equal(status, 200, JSON.stringify(json));
  const accessToken = tokenIn(json);
  assert.equal((json as { scope: string }).scope, 'mcp');
  assert.equal((await operator('POST', `/api/v1/logins/${id}/token`)).status, 404, 'a code is good once');
  assert.equal(await statusWith('tools', accessToken), 200);
  assert.equal(await statusWith('tools', 'another'), 401);

  const again = await begin('tools');
  assert.equal(again.steps[2]?.value?.['registered'], 'before', 'the client is registered once');
  const code = new URL(back).searchParams.get('code') ?? assert.fail();
  for (const secret of [accessToken, code]) assert.ok(!gateway.log().includes(secret));
});

test('a login belongs to the session that began it', async () => {
  const owner = await browserOf(gateway, firstLinkOf(gateway));
  const { id } = started(await begin('tools', {}, owner.ask));
  const other = await browserOf(gateway, await newLink(gateway, 'operator'));
  for (const [method, path] of [
    ['GET', ''],
    ['POST', '/token'],
    ['DELETE', ''],
  ] as const)
    assert.equal((await other.ask(method, `/api/v1/logins/${id}${path}`)).status, 404, method);
  assert.equal((await owner.ask('DELETE', `/api/v1/logins/${id}`)).status, 204);
  assert.equal((await owner.ask('GET', `/api/v1/logins/${id}`)).status, 404);
  const viewer = await browserOf(gateway, await newLink(gateway, 'viewer'));
  assert.equal((await viewer.ask('POST', `${pathOf('tools')}/login`, {})).status, 403);
});

test('a refusal of the issuer ends the login with its reason', async () => {
  const { id, authorizeUrl } = started(await begin('tools'));
  const browser = openBrowser(idp.url);
  const page = await browser.get(authorizeUrl);
  const back = (await browser.post(page.url, { cancel: 'yes' })).url;
  assert.equal(await comeBack(back), 200);
  const { status, json } = await operator('POST', `/api/v1/logins/${id}/token`);
  assert.equal(status, 422);
  assert.match((json as { detail: string }).detail, /access_denied: the user cancelled/);
});

test('the callback takes only what a login waits for, and shows only itself to other sites', async () => {
  const callback = `${gateway.admin}/ui/playground/callback`;
  assert.equal(await comeBack(`${callback}?code=a&state=b`), 400);
  assert.equal(await comeBack(callback), 400);
  assert.equal(await comeBack(callback, { 'sec-fetch-mode': 'no-cors' }), 403);
  assert.equal(await comeBack(callback, { 'sec-fetch-dest': 'iframe' }), 403);
  assert.equal(await comeBack(callback, { host: 'rebound.example' }), 403);
  for (const path of ['/ui/', '/api/v1/session', '/config_dump'])
    assert.equal(await comeBack(`${gateway.admin}${path}`), 403, path);
});

test('a client that the operator names logs in where the server registers none', async () => {
  const refused = await begin('app');
  assert.equal(refused.login, null);
  assert.match(refused.steps[0]?.warning ?? '', /no metadata/);
  assert.match(refused.steps.at(-1)?.problem ?? '', /registers no clients/);

  const begun = await begin('app', { clientId: 'typed', clientSecret: 'typed-secret', scopes: ['mcp'] });
  const { id, authorizeUrl } = started(begun);
  assert.doesNotMatch(JSON.stringify(begun), /typed-secret/);
  assert.equal(await comeBack(await logIn(openBrowser(closedIdp.url), authorizeUrl, 'alice')), 200);
  const { json } = await operator('POST', `/api/v1/logins/${id}/token`);
  assert.equal(await statusWith('app', tokenIn(json)), 200);
});

test('with a shared client, the route itself is the authorization server', async () => {
  const begun = await begin('shared');
  const { id, authorizeUrl } = started(begun);
  const own = `http://localhost:${gateway.ports[0]}`;
  assert.equal(begun.steps[1]?.value?.['issuer'], `${own}/shared`);

  const browser = openBrowser(own);
  const consent = await browser.get(authorizeUrl);
  const [, request = ''] = /name="request" value="([^"]*)"/.exec(consent.body) ?? [];
  const sent = await browser.post(consent.url, { request, decision: 'allow' });
  const returned = await logIn(openBrowser(closedIdp.url), sent.url, 'alice');
  assert.equal(await comeBack((await browser.get(returned)).url), 200);
  const { status, json } = await operator('POST', `/api/v1/logins/${id}/token`);
  assert.equal(status, 200, JSON.stringify(json));
  assert.equal(await statusWith('shared', tokenIn(json)), 200);
});

test('the gateway asks no issuer but those of the route, and no endpoint that its rules forbid', async () => {
  const refusalOf = async (route: string, body: object = {}): Promise<unknown[]> => {
    const { status, json } = await operator('POST', `${pathOf(route)}/login`, body);
    return [status, (json as { detail: string }).detail];
  };
  assert.deepEqual(await refusalOf('tools', { issuer: strangeIssuer }), [
    422,
    `issuer: expected an issuer of the route: ${idp.issuer}`,
  ]);
  assert.deepEqual(await refusalOf('open'), [422, 'the route asks for no token of an issuer']);
  assert.deepEqual(await refusalOf('none'), [404, 'no route has the id 0#0/public/none']);

  const problemWith = async (document: object): Promise<string> => {
    answers.body = JSON.stringify(document);
    const { steps, login } = await begin('strange');
    assert.equal(login, null);
    return steps.at(-1)?.problem ?? '';
  };
  const endpoints = {
    issuer: strangeIssuer,
    authorization_endpoint: `${strangeIssuer}/authorize`,
    token_endpoint: `${strangeIssuer}/token`,
  };
  const inside = 'http://127.0.0.1:9/';
  assert.match(
    await problemWith({ ...endpoints, token_endpoint: inside }),
    /token_endpoint is missing .* not https/,
  );
  assert.match(await problemWith({ ...endpoints, registration_endpoint: inside }), /registers no clients/);
  assert.match(await problemWith({ ...endpoints, issuer: idp.issuer }), /names another issuer/);
  answers.location = inside;
  assert.match(await problemWith(endpoints), /redirected to another server/);
});

test('few logins begin at a time', async () => {
  const waiting: ServerResponse[] = [];
  held = waiting;
  const begun = Array.from({ length: 16 }, () => begin('strange'));
  await until('all logins to wait', () => waiting.length === 16);
  const { status, json } = await operator('POST', `${pathOf('strange')}/login`, {});
  assert.deepEqual([status, (json as { detail: string }).detail], [503, 'too many logins begin at a time']);
  held = undefined;
  for (const response of waiting) response.end('{}');
  for (const { login } of await Promise.all(begun)) assert.equal(login, null);
  assert.equal((await operator('POST', `${pathOf('strange')}/login`, {})).status, 200);
});
