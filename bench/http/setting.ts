import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { certificate } from '../../src/proxy/certificates.testing.ts';
import { freePorts } from '../../test/support/loopback.ts';
import { startIssuer, type TestIssuer } from '../../test/support/issuer.ts';
import { filesLimit } from '../machine.ts';
import { startPinned, waitForPort, type Pinned } from '../processes.ts';
import { programs } from '../tools.ts';
import { smallAnswer } from './workloads.ts';

/** The things that all candidates share: a directory of their own, a backend and an issuer of tokens. */
export interface Setting {
  readonly directory: string;
  readonly backendPort: number;
  readonly backend: Pinned;
  readonly issuer: TestIssuer;
  /** Accepts exported spans, on the core of everything else. */
  readonly collectorPort: number;
  readonly token: string;
  /** Core of what is measured, core of everything else. */
  readonly cores: readonly [number, number];
  close(): Promise<void>;
}

export async function openSetting(directory: string, cores: readonly [number, number]): Promise<Setting> {
  const [backendPort] = (await freePorts(1)) as [number];
  mkdirSync(`${directory}/files`);
  writeFileSync(`${directory}/files/10k`, Buffer.alloc(10_240, 'x'));
  writeFileSync(`${directory}/files/1m`, Buffer.alloc(1_048_576, 'x'));
  const { cert, key } = certificate({ names: ['api.example.com', 'www.example.com'] });
  writeFileSync(`${directory}/identity.pem`, cert + key, { mode: 0o600 });
  const backend = await startNginx(directory, cores[1], 'backend.conf', 'backend', backendPort, {
    BACKEND_PORT: `${backendPort}`,
    SMALL_ANSWER: smallAnswer,
  });
  const issuer = await startIssuer();
  const collector = await startCollector();
  return {
    directory,
    backendPort,
    backend,
    issuer,
    collectorPort: (collector.address() as AddressInfo).port,
    token: await issuer.token({ aud: 'api://bench', groups: ['benchers', 'staff', 'europe'] }),
    cores,
    close: async () => {
      await backend.stop();
      await issuer.close();
      collector.closeAllConnections();
      collector.close();
    },
  };
}

/** A collector of OTLP over HTTP: an empty answer says that it took everything. */
async function startCollector(): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/**
 * Fills in a configuration file of this folder and returns the path of the copy. Lines that end in `#if NAME` or
 * `#unless NAME` stay or go with that switch.
 */
export function fillIn(
  directory: string,
  template: string,
  values: Readonly<Record<string, string | number>>,
  switches: Readonly<Record<string, boolean>> = {},
): string {
  const text = readFileSync(new URL(template, import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, word, name = ''] = / #(if|unless) (\w+)$/.exec(line) ?? [];
      if (word === undefined) return [line];
      return (switches[name] === true) === (word === 'if') ? [line.slice(0, line.lastIndexOf(' #'))] : [];
    })
    .join('\n')
    .replaceAll(/\$\{([A-Z_]+)\}/g, (_, name: string) => {
      const value = values[name];
      if (value === undefined) throw new Error(`${template} wants ${name}`);
      return `${value}`;
    });
  const path = `${directory}/${template.replaceAll('/', '-')}`;
  writeFileSync(path, text);
  return path;
}

/** Starts nginx on a filled-in configuration; as root its worker must be root too, to reach the directory. */
export async function startNginx(
  directory: string,
  core: number,
  template: string,
  name: string,
  port: number,
  values: Readonly<Record<string, string | number>>,
  switches: Readonly<Record<string, boolean>> = {},
): Promise<Pinned> {
  const file = fillIn(
    directory,
    template,
    { DIR: directory, FILES: Math.min(65_536, filesLimit()), ...values },
    switches,
  );
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  const command = [programs.nginx, '-c', file, '-e', `${directory}/${name}-error.log`];
  const program = startPinned(
    core,
    user === '' ? command : [...command, '-g', user],
    `${directory}/${name}.log`,
  );
  await waitForPort(port, program);
  return program;
}
