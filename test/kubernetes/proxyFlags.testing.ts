import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '../support/kubeCluster.ts';
import type { ControllerProcess, Owner } from './controllerProcess.testing.ts';

const audience = 'portcullis.dev/controller';
const serverName = 'portcullis-controller.default.svc';

const modelsPort = (controller: ControllerProcess): string =>
  /Watching the cluster.* models=(\d+)/.exec(controller.log())?.[1] ?? '';

/** A token of a ServiceAccount of `default`. */
export const accountToken = async (cluster: Cluster, account: string, of = audience): Promise<string> =>
  await cluster.kubectl(['create', 'token', account, `--audience=${of}`, '--duration=10m']);

/**
 * Flags of a proxy of the Gateway `default/gw`, with what a pod would find in its volumes.
 * @param credentials in place of a token of the ServiceAccount `gw`
 */
export async function proxyFlags(
  t: Owner,
  cluster: Cluster,
  controllers: readonly ControllerProcess[],
  credentials?: string,
): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-proxy-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (name: string, content: string | Uint8Array): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const secret = await cluster.kubectl(['get', 'secret', 'portcullis-controller', '-o', 'json']);
  const { data } = JSON.parse(secret) as { data: Record<string, string> };
  return [
    'proxy',
    `--controller=${controllers.map((one) => `127.0.0.1:${modelsPort(one)}`).join(',')}`,
    '--gateway=default/gw',
    `--server-name=${serverName}`,
    `--token-file=${write('token', credentials ?? (await accountToken(cluster, 'gw')))}`,
    `--ca-file=${write('ca.crt', Buffer.from(data['ca.crt'] ?? '', 'base64'))}`,
    `--cache=${join(folder, 'cache')}`,
    `--cache-key-file=${write('key', randomBytes(32))}`,
  ];
}
