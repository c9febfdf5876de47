import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { startGateway } from '../../src/main.ts';

const config = `
config: { adminAddr: 'off', statsAddr: 'off', readinessAddr: 'off', logging: { level: error, accessLog: none } }
binds:
- port: 0
  address: 127.0.0.1
  listeners: [{ routes: [{ policies: { directResponse: { status: 200, body: here } } }] }]
`;

test('a bind with an address is open there and nowhere else', async () => {
  const gateway = await startGateway({ source: { text: config }, env: {}, version: 'test' });
  try {
    const port = gateway.binds[0]?.port ?? 0;
    assert.equal(await (await fetch(`http://127.0.0.1:${port}/`)).text(), 'here');
    const elsewhere = connect(port, '127.0.0.2');
    const [error] = (await once(elsewhere, 'error')) as [NodeJS.ErrnoException];
    assert.equal(error.code, 'ECONNREFUSED');
  } finally {
    await gateway.closeNow();
  }
});

test('an address that the machine does not have is said in the error', async () => {
  const text = config.replace('address: 127.0.0.1', 'address: 192.0.2.7');
  await assert.rejects(
    startGateway({ source: { text }, env: {}, version: 'test' }),
    /port 0 on 192\.0\.2\.7 cannot be bound: EADDRNOTAVAIL/,
  );
});
