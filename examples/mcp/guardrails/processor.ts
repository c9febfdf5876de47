/**
 * A processor for examples/mcp/guardrails.yaml: it refuses orders above the limit of the caller, and hides card numbers
 * in results. Start it with: node examples/mcp/guardrails/processor.ts 4445
 */
import { serveUnary } from '../../unaryService.ts';

/** A message to check, as `ext_mcp.proto` has it. */
export interface Check {
  readonly service_names: readonly string[];
  readonly method: string;
  readonly metadata_context?: {
    readonly fields: Readonly<Record<string, { readonly stringValue?: string }>>;
  };
  readonly mcp_request?: Buffer;
  readonly mcp_response?: Buffer;
  readonly headers?: readonly { readonly key: string; readonly value: Buffer }[];
}

/** The verdict: `{pass: {}}`, `{mutated: …}` or `{error: …}`, and what goes with it. */
export type Verdict = object;

export interface Processor {
  readonly port: number;
  close(): Promise<void>;
}

/** Serves checks on loopback. */
export async function startProcessor(
  port: number,
  checks: {
    readonly request: (check: Check) => Verdict | Promise<Verdict>;
    readonly response: (check: Check) => Verdict | Promise<Verdict>;
  },
): Promise<Processor> {
  const service = await serveUnary(
    port,
    {
      proto: new URL('ext_mcp.proto', import.meta.url),
      name: 'agentgateway.dev.ext_mcp.ExtMcp',
      options: { enums: String },
    },
    { CheckRequest: checks.request, CheckResponse: checks.response },
  );
  return {
    port: service.port,
    close: () => {
      service.close();
      return Promise.resolve();
    },
  };
}

const limits: Readonly<Record<string, number>> = { alice: 1_000, bob: 100 };

/** Refuses an order above the limit of the caller. */
export function checkOrder({ mcp_request: params, metadata_context: metadata }: Check): Verdict {
  const { name, arguments: given } = JSON.parse(String(params)) as {
    name: string;
    arguments?: { amount?: unknown };
  };
  if (name !== 'order') return { pass: {} };
  const user = metadata?.fields['user']?.stringValue ?? '';
  const most = limits[user] ?? 0;
  const amount = Number(given?.amount);
  if (amount <= most) return { pass: {} };
  const reason = `an order of ${String(amount)} is above the limit of ${user}, which is ${String(most)}`;
  return { error: { code: 'PERMISSION_DENIED', reason } };
}

/** Hides what looks like the number of a card. */
export function hideCards({ mcp_response: result }: Check): Verdict {
  const text = String(result);
  const hidden = text.replaceAll(/\b\d{16}\b/g, '****');
  return hidden === text ? { pass: {} } : { mutated: Buffer.from(hidden) };
}

if (import.meta.main) {
  const { port } = await startProcessor(Number(process.argv[2] ?? 4445), {
    request: checkOrder,
    response: hideCards,
  });
  process.stdout.write(`processor on 127.0.0.1:${String(port)}\n`);
}
