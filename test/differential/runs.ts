/** The runs of a subject: directly, and behind a gateway alone and as one of two targets. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DevIdp } from '../../apps/dev-idp/src/index.ts';
import { startGateway, type GatewayProcess } from '../e2e/gateway.testing.ts';
import { authentication, group, startIdp } from '../e2e/stage.testing.ts';
import { modernRevision, walk, type AnyRevision } from './course.ts';
import { startHttpServer } from './httpServer.ts';
import { httpWire } from './httpWire.ts';
import { walkInSession, walkModern } from './modernCourse.ts';
import { modernHttpWire, modernStdioWire } from './modernWire.ts';
import { federatedNames, sameNames, type Names } from './names.ts';
import { Peer } from './peer.ts';
import { sseWire } from './sseWire.ts';
import { stdioWire } from './stdioWire.ts';
import type { Subject } from './subject.ts';
import type { Transcript } from './transcript.ts';
import type { Program, Receive, Wire } from './wire.ts';

/** Name of the target that stands for the subject. */
const target = 'one';
const other = {
  name: 'two',
  stdio: {
    cmd: process.execPath,
    args: [fileURLToPath(new URL('../e2e/fixtures/sdk2Items.ts', import.meta.url))],
  },
};

/** The ways in which a gateway shows a server: the targets of its backend, and the names that follow. */
export const places: Readonly<
  Record<
    string,
    { targets(subject: object, revision: AnyRevision): readonly object[]; readonly names: Names }
  >
> = {
  alone: { targets: (subject) => [subject], names: sameNames },
  federated: {
    // The order of the targets changes nothing but the order of lists.
    targets: (subject, revision) => (revision === '2025-06-18' ? [other, subject] : [subject, other]),
    names: federatedNames(target),
  },
};

/** The rules of the routes. A rule about tools reads every name, also where it hides nothing. */
const rules: Readonly<Record<AnyRevision, readonly object[]>> = {
  '2025-11-25': [{ if: `"${group}" in auth.claims.groups` }, { deny: 'mcp.tool.name == "hidden"' }],
  '2026-07-28': [{ if: `"${group}" in auth.claims.groups` }, { deny: 'mcp.tool.name == "hidden"' }],
  '2025-06-18': [{ if: `"${group}" in auth.claims.groups` }],
};

/** A server of the subject for one run. */
interface Started {
  /** The server as a target of a gateway. */
  readonly target: object;
  /** Connects a client with it. */
  connect(revision: AnyRevision, receive: Receive): Wire;
}

/** The ways to reach a server that runs, by the name of its transport. */
const overNetwork: Readonly<Record<'http' | 'sse', (url: string) => Started>> = {
  http: (url) => ({
    target: { mcp: { host: url } },
    connect: (revision, receive) =>
      revision === modernRevision
        ? modernHttpWire(url, undefined, receive)
        : httpWire(url, { revision }, receive),
  }),
  sse: (url) => ({
    target: { sse: { host: url } },
    connect: (_, receive) => sseWire(url, receive),
  }),
};

/** The client or the gateway starts the program. */
const overStdio = (program: Program): Started => ({
  target: { stdio: program },
  connect: (revision, receive) => {
    const wire = stdioWire(program, receive);
    return revision === modernRevision ? modernStdioWire(wire) : wire;
  },
});

type Course = (peer: Peer, subject: Subject) => Promise<void>;

const courseOf = (revision: AnyRevision): Course =>
  revision === modernRevision ? walkModern : (peer, subject) => walk(peer, subject, revision);

export class Runs implements AsyncDisposable {
  private readonly subject: Subject;
  private readonly stack = new AsyncDisposableStack();
  private readonly folder: string;
  private gateway: GatewayProcess | undefined;
  private token = '';
  private readonly folders = new Map<string, string>();

  constructor(subject: Subject) {
    this.subject = subject;
    this.folder = mkdtempSync(join(tmpdir(), 'differential-'));
    this.stack.defer(() => rmSync(this.folder, { recursive: true, force: true }));
  }

  /** Starts a gateway with a route for each revision and place. */
  async start(revisions: readonly AnyRevision[], placed: readonly string[]): Promise<void> {
    const idp = this.stack.use(await startIdp());
    const routes = await Promise.all(
      revisions.flatMap((revision) =>
        placed.map(async (place) => await this.route(`${place}-${revision}`, place, revision, idp)),
      ),
    );
    const gateway = await startGateway(JSON.stringify({ binds: [{ port: 0, listeners: [{ routes }] }] }));
    this.stack.use(gateway);
    await gateway.keysReady();
    this.gateway = gateway;
    this.token = await idp.issueToken({ user: 'alice' });
  }

  /** Walks the course without a gateway. */
  async direct(revision: AnyRevision): Promise<Transcript> {
    const started = await this.serve(`direct-${revision}`);
    // A server that does not know the revision is compared in a session.
    const isBridged = this.subject.modern === 'bridged' && revision === modernRevision;
    const wire = (receive: Receive): Wire => started.connect(isBridged ? '2025-11-25' : revision, receive);
    if (isBridged) return await this.walk(wire, `direct-${revision}`, sameNames, walkInSession);
    return await this.walk(wire, `direct-${revision}`, sameNames, courseOf(revision));
  }

  /** Walks the course through the gateway. */
  async through(place: string, revision: AnyRevision): Promise<Transcript> {
    const name = `${place}-${revision}`;
    const wire = (receive: Receive): Wire =>
      revision === modernRevision
        ? modernHttpWire(`${this.gateway!.url}/${name}`, this.token, receive)
        : httpWire(`${this.gateway!.url}/${name}`, { revision, token: this.token }, receive);
    return await this.walk(wire, name, places[place]!.names, courseOf(revision));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stack.disposeAsync();
  }

  private async walk(
    wire: (receive: Receive) => Wire,
    run: string,
    names: Names,
    course: Course,
  ): Promise<Transcript> {
    const peer = new Peer(wire, { folder: this.folders.get(run)!, names, roots: this.subject.roots ?? [] });
    try {
      await course(peer, this.subject);
      return peer.transcript;
    } finally {
      await peer.close();
    }
  }

  private async route(name: string, place: string, revision: AnyRevision, idp: DevIdp): Promise<object> {
    const started = await this.serve(name);
    const targets = places[place]!.targets({ name: target, ...started.target }, revision);
    return {
      name,
      matches: [{ path: { exact: `/${name}` } }],
      policies: { mcpAuthentication: authentication(idp, { authorization: { rules: rules[revision] } }) },
      backends: [{ mcp: { targets } }],
    };
  }

  /** Runs have servers and folders of their own, so that none sees the traces of another. */
  private async serve(run: string): Promise<Started> {
    const folder = join(this.folder, run);
    mkdirSync(folder);
    this.folders.set(run, folder);
    this.subject.prepare?.(folder);
    const program = this.subject.program(folder);
    const { over } = this.subject;
    if (over === 'stdio') return overStdio(program);
    const server = await startHttpServer(program);
    this.stack.defer(() => server.close());
    return overNetwork[over](server.url);
  }
}
