import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { auth as auth1 } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import * as sdk2 from '@modelcontextprotocol/client';
import { openBrowser } from '../../apps/dev-idp/src/browser.testing.ts';
import type { GatewayProcess } from './gateway.testing.ts';
import { Person } from './person.testing.ts';
import { startBeforeEverything, startIdp } from './stage.testing.ts';

let idp: Awaited<ReturnType<typeof startIdp>>;
let gateway: GatewayProcess;

before(async () => {
  idp = await startIdp();
  gateway = await startBeforeEverything(idp, '/tools/mcp');
});
after(async () => {
  await gateway?.stop();
  await idp?.close();
});

/** A person who logs in as `user` when sent to the login page; keeps the address of the page. */
const personOf = (user: string): Person & { authorizationUrl?: URL } => {
  const made: Person & { authorizationUrl?: URL } = new Person(async (address) => {
    made.authorizationUrl = new URL(address);
    const browser = openBrowser(idp.url);
    const page = await browser.get(address);
    assert.equal(page.status, 200, page.body);
    return new URL((await browser.post(page.url, { user })).url).searchParams;
  });
  return made;
};
const codeOf = ({ returned }: Person): string => returned.get('code') ?? '';

const url = (): URL => new URL('/tools/mcp', gateway.url);

describe('a client that knows nothing but the URL', () => {
  test('finds the login page from the 401, and comes in with what it gets there (SDK 1.x)', async () => {
    const person = personOf('alice');
    const first = new StreamableHTTPClientTransport(url(), { authProvider: person });
    const client = new Client({ name: 'e2e', version: '1' });
    await assert.rejects(client.connect(first as Parameters<typeof client.connect>[0]), /Unauthorized/);
    assert.equal(person.authorizationUrl?.searchParams.get('code_challenge_method'), 'S256');
    assert.equal(person.authorizationUrl?.searchParams.get('resource'), url().href);
    await first.finishAuth(codeOf(person));

    const transport = new StreamableHTTPClientTransport(url(), { authProvider: person });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    const result = await client.callTool({ name: 'echo', arguments: { message: 'logged in' } });
    assert.deepEqual(result.content, [{ type: 'text', text: 'Echo: logged in' }]);
    await transport.terminateSession();
    await client.close();
  });

  test('the same with SDK 2.x', async () => {
    const person = personOf('alice');
    const first = new sdk2.StreamableHTTPClientTransport(url(), { authProvider: person });
    const client = new sdk2.Client({ name: 'e2e', version: '1' });
    await assert.rejects(client.connect(first), /Unauthorized|authoriz/i);
    await first.finishAuth(person.returned);

    const transport = new sdk2.StreamableHTTPClientTransport(url(), { authProvider: person });
    await client.connect(transport);
    const { tools } = await client.listTools();
    assert.ok(tools.some(({ name }) => name === 'echo'));
    await transport.terminateSession();
    await client.close();
  });

  test('a person outside the group can log in and is refused all the same', async () => {
    const person = personOf('bob');
    assert.equal(await auth1(person, { serverUrl: url() }), 'REDIRECT');
    assert.equal(await auth1(person, { serverUrl: url(), authorizationCode: codeOf(person) }), 'AUTHORIZED');
    const response = await fetch(url(), {
      method: 'POST',
      headers: {
        authorization: `Bearer ${person.tokens()?.access_token ?? ''}`,
        'content-type': 'application/json',
      },
      body: '{}',
    });
    assert.equal(response.status, 403);
  });

  test('a refresh token gives a token that works', async () => {
    const person = personOf('alice');
    await auth1(person, { serverUrl: url() });
    await auth1(person, { serverUrl: url(), authorizationCode: codeOf(person) });
    const before = person.tokens();
    assert.equal(await auth1(person, { serverUrl: url() }), 'AUTHORIZED');
    assert.notEqual(person.tokens()?.access_token, before?.access_token);
    const client = new Client({ name: 'e2e', version: '1' });
    const transport = new StreamableHTTPClientTransport(url(), { authProvider: person });
    await client.connect(transport as Parameters<typeof client.connect>[0]);
    await transport.terminateSession();
    await client.close();
  });
});
