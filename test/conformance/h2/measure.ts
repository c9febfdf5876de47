import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEcho } from '../../../apps/echo/src/index.ts';
import { authority } from '../../../src/proxy/certificates.testing.ts';
import { startGateway } from '../../support/gateway.ts';
import { compare, type Comparison, type Expected } from './compare.ts';
import { runSuite, suiteProgram } from './suite.ts';

/** The way in which the suite reaches the gateway. */
export type Way = 'TLS' | 'TCP';

/** Cases that are known to fail. */
const expected = JSON.parse(
  readFileSync(new URL('expected-failures.json', import.meta.url), 'utf8'),
) as Readonly<Record<Way, Expected>>;

/** Runs h2spec against the gateway. @throws Error where Go or the suite cannot be had */
export async function measureHttp2(way: Way): Promise<Comparison> {
  const program = await suiteProgram();
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-h2-'));
  const { cert, key } = authority().issue({ names: ['localhost', '127.0.0.1'] });
  writeFileSync(join(folder, 'cert.pem'), cert);
  writeFileSync(join(folder, 'key.pem'), key);
  const echo = await startEcho({ port: 0 });
  const gateway = await startGateway({
    binds: [
      {
        listeners: [
          {
            ...(way === 'TLS' && { tls: { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') } }),
            routes: [{ backends: [{ host: `127.0.0.1:${echo.port}` }] }],
          },
        ],
      },
    ],
  });
  try {
    return compare(await runSuite(program, gateway.port, way === 'TLS'), expected[way]);
  } finally {
    await gateway.stop();
    await echo.close();
    rmSync(folder, { recursive: true });
  }
}
