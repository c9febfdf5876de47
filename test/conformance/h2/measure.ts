import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEcho } from '../../../apps/echo/src/index.ts';
import { authority } from '../../../src/proxy/certificates.testing.ts';
import { startGateway } from '../../support/gateway.ts';
import { compare, type Comparison, type Expected } from './compare.ts';
import { runSuite, suiteProgram } from './suite.ts';

const listOf = (name: string): Expected =>
  JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8')) as Expected;

/** What is expected to fail by itself, and with `strictHttp2Frames`. */
const expected = {
  usual: listOf('expected-failures.json'),
  strict: listOf('expected-failures-strict.json'),
} as const;

/** The two ways to run the gateway. */
export type Mode = keyof typeof expected;

/** Runs h2spec against the gateway under TLS. @throws Error where Go or the suite cannot be had */
export async function measureHttp2(mode: Mode): Promise<Comparison> {
  const program = await suiteProgram();
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-h2-'));
  const { cert, key } = authority().issue({ names: ['localhost', '127.0.0.1'] });
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
  const echo = await startEcho({ port: 0 });
  const gateway = await startGateway({
    config: { limits: { strictHttp2Frames: mode === 'strict' } },
    binds: [
      {
        listeners: [
          {
            tls: { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') },
            routes: [{ backends: [{ host: `127.0.0.1:${echo.port}` }] }],
          },
        ],
      },
    ],
  });
  try {
    return compare(await runSuite(program, gateway.port), expected[mode]);
  } finally {
    await gateway.stop();
    await echo.close();
    rmSync(folder, { recursive: true });
  }
}
