/** A gateway with an audit stream in a file, and readers of the stream. */

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { DevIdp } from '../../apps/dev-idp/src/index.ts';
import { verifyFiles, type Verification } from '../../src/audit/index.ts';
import { until } from '../../src/until.testing.ts';
import { startGateway, type GatewayProcess } from './gateway.testing.ts';
import { authentication, inline, node, rogue } from './stage.testing.ts';

export type AuditLine = Readonly<Record<string, unknown>>;

/** A folder for the stream of one test. */
export class AuditFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'portcullis-audit-'));
  readonly file = join(this.path, 'audit.jsonl');
  readonly keyFile = join(this.path, 'key');
  readonly checkpointFile = join(this.path, 'checkpoints.jsonl');

  constructor(t: TestContext) {
    writeFileSync(this.keyFile, 'k'.repeat(48));
    t.after(() => rmSync(this.path, { recursive: true }));
  }

  /** The chain of the stream, as settings. */
  get chain(): object {
    return {
      key: { file: this.keyFile },
      checkpoints: { file: this.checkpointFile },
      checkpointInterval: '100ms',
    };
  }

  /** All files of the stream. */
  get files(): string[] {
    return readdirSync(this.path)
      .filter((name) => name.startsWith('audit.jsonl'))
      .map((name) => join(this.path, name));
  }

  get text(): string {
    return this.files.map((file) => readFileSync(file, 'utf8')).join('');
  }

  get lines(): AuditLine[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as AuditLine);
  }

  /** Lines of an operation. */
  of(operation: string): AuditLine[] {
    return this.lines.filter((line) => line['api.operation'] === operation);
  }

  /** Waits for so many lines of an operation. */
  async wait(operation: string, count = 1): Promise<AuditLine[]> {
    await until(`${count} lines of ${operation}`, () => this.of(operation).length >= count);
    return this.of(operation);
  }

  verify(partial = false): Promise<Verification> {
    return verifyFiles({
      files: this.files,
      key: readFileSync(this.keyFile),
      checkpoints: [this.checkpointFile],
      partial,
    });
  }
}

export interface AuditedOptions {
  readonly audit: object;
  readonly config?: object;
  readonly idp?: DevIdp;
  /** Settings of the backend beside its targets. */
  readonly mcp?: object;
  readonly targets?: readonly object[];
  readonly policies?: object;
  readonly env?: Readonly<Record<string, string>>;
}

/** A gateway with one MCP route in front of a small server. */
export const startAudited = ({
  audit,
  config,
  idp,
  mcp,
  targets,
  policies,
  env = {},
}: AuditedOptions): Promise<GatewayProcess> =>
  startGateway(
    `
config: ${inline({ ...config, audit })}
binds:
- port: 0
  listeners:
  - routes:
    - name: tools
      policies: ${inline({ ...(idp && { mcpAuthentication: authentication(idp, { authorization: undefined }) }), ...policies })}
      backends: [{ mcp: ${inline({
        ...mcp,
        targets: targets ?? [{ name: 'target', stdio: { cmd: node, args: [rogue] } }],
      })} }]
`,
    { env },
  );
