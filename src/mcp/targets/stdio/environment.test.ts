import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stdioTarget } from '../../harness.testing.ts';
import { childEnvironment } from './environment.ts';

test('a child inherits the environment less the secrets of the gateway', () => {
  const env = childEnvironment(stdioTarget({ env: { A: '1' } }), new Set(['SESSION_KEY']), {
    PATH: '/bin',
    SESSION_KEY: 'secret',
  });
  assert.deepEqual(env, { PATH: '/bin', A: '1' });
});

test('clearEnv leaves only the variables of the target', () => {
  const env = childEnvironment(stdioTarget({ clearEnv: true, env: { A: '1' } }), new Set(), { PATH: '/bin' });
  assert.deepEqual(env, { A: '1' });
});

test('variables of the target are set, even under the name of a secret', () => {
  const secrets = new Set(['TOKEN']);
  const env = childEnvironment(stdioTarget({ env: { TOKEN: 'its own' } }), secrets, {
    TOKEN: 'of the gateway',
    EMPTY: '',
    UNSET: undefined,
  });
  assert.deepEqual(env, { EMPTY: '', TOKEN: 'its own' });
});

test('inheritEnv leaves those variables of the gateway that it names, and no secret', () => {
  const env = childEnvironment(
    stdioTarget({ inheritEnv: ['PATH', 'SESSION_KEY'], env: { A: '1' } }),
    new Set(['SESSION_KEY']),
    { PATH: '/bin', HOME: '/home/me', SESSION_KEY: 'secret' },
    { B: '2' },
  );
  assert.deepEqual(env, { PATH: '/bin', A: '1', B: '2' });
});
