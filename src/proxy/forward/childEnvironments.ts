import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { asGatewayError, GatewayError } from '../../errors.ts';
import { fileFieldOf, type Caller, type ChildEnvironment } from '../../mcp/index.ts';
import type { Backend, InjectedValue, McpBackend, PolicyUse } from '../../model/index.ts';
import { expiryOf, loginError, type Exchange, type Steps } from '../../policies/index.ts';
import { principalOf } from '../exchange/caller.ts';
import { refusalOf, TargetRequest } from './mcpReach.ts';

type Environments = Pick<Caller, 'environment'>;

/** A promise while a value for one of the targets is asked for. A target without one fails its own calls only. */
export type EnvironmentsFor = (exchange: Exchange) => Environments | Promise<Environments>;

/** Reads a value of the caller. @throws GatewayError where the caller has none */
type ReadValue = (exchange: Exchange) => string | Promise<string>;

/** Reads the values of the caller; undefined where the children of the target are alike. @throws GatewayError */
type ReadEnvironment = (exchange: Exchange) => ChildEnvironment | undefined | Promise<ChildEnvironment>;

/** A longer value does not fit into the environment of a process. */
const longestValue = 65_536;

/**
 * Reads the values of callers for the environments of child processes.
 * @param stepsOf prepares policies
 * @returns undefined where no child of the backend is its caller's, or has values of its caller
 */
export function compileEnvironments(
  backend: McpBackend,
  stepsOf: (uses: readonly PolicyUse[]) => readonly Steps[],
): EnvironmentsFor | undefined {
  const targets = backend.targets.flatMap((target, index) => {
    if (!('injected' in target || 'scope' in target)) return [];
    const { name, injected, scope } = target;
    const place = `${backend.place.path}.mcp.targets[${index}].${fileFieldOf(target)}`;
    const values = injected && environmentReader(injected, `${place}.env`, stepsOf);
    if (scope === 'user') return [{ name, read: ofUser(values, `${place}.scope`) }];
    return values === undefined ? [] : [{ name, read: values }];
  });
  if (targets.length === 0) return undefined;
  return (exchange) => {
    const known = new Map<string, ChildEnvironment | GatewayError | undefined>();
    const waits = targets.flatMap(({ name, read }) => {
      const note = (found: ChildEnvironment | GatewayError | undefined): void => void known.set(name, found);
      const fail = (error: unknown): void => note(refusalOf(name, error));
      try {
        const found = read(exchange);
        if (found instanceof Promise) return [found.then(note, fail)];
        note(found);
      } catch (error) {
        fail(error);
      }
      return [];
    });
    const environments: Environments = {
      environment: (name) => {
        const found = known.get(name);
        if (found instanceof GatewayError) throw found;
        return found;
      },
    };
    return waits.length === 0 ? environments : Promise.all(waits).then(() => environments);
  };
}

/** As `credentials` of policies: no log shows the headers that go into the environments of children. */
export function childCredentials(backends: readonly Backend[]): Required<Steps>['credentials'][] {
  const sources = backends
    .flatMap((backend) => (backend.kind === 'mcp' ? backend.targets : []))
    .flatMap((target) => ('injected' in target ? Object.values(target.injected ?? {}) : []));
  const names = sources.flatMap((source) => (source.kind === 'header' ? [source.header] : []));
  if (names.length === 0) return [];
  return [({ request }) => names.flatMap((name) => request.header(name) ?? [])];
}

/** The same where each user has a child. */
const ofUser =
  (values: ReadEnvironment | undefined, place: string): ReadEnvironment =>
  (exchange) => {
    if (principalOf(exchange) === undefined)
      throw loginError(exchange, 'mcp_user_required', 'missing_claim', {
        message: 'each user has a program of their own, and the caller has no proven identity',
        by: { rule: 'scope: user', place },
      });
    return values?.(exchange);
  };

function environmentReader(
  injected: Readonly<Record<string, InjectedValue>>,
  place: string,
  stepsOf: (uses: readonly PolicyUse[]) => readonly Steps[],
): (exchange: Exchange) => ChildEnvironment | Promise<ChildEnvironment> {
  const readers = Object.entries(injected).map(([name, source]) => {
    const variable = { name, source, place: `${place}.${name}` };
    return { name, read: within(variable, readerOf(variable, stepsOf)) };
  });
  return (exchange) => {
    const values = new Map<string, string>();
    const waits: Promise<unknown>[] = [];
    for (const { name, read } of readers)
      try {
        const value = read(exchange);
        if (value instanceof Promise) waits.push(value.then((later) => values.set(name, later)));
        else values.set(name, value);
      } catch (error) {
        if (waits.length === 0) throw error;
        // Another value is under way: the failures of both need a reader.
        waits.push(Promise.reject(asGatewayError(error)));
      }
    return waits.length === 0 ? environmentOf(values) : Promise.all(waits).then(() => environmentOf(values));
  };
}

/** Checks the values that a reader finds. */
const within =
  (variable: Variable, read: ReadValue): ReadValue =>
  (exchange) => {
    const checked = (value: string): string => {
      if (value.length > longestValue || value.includes('\0'))
        throw missing(variable, exchange, 'the value is too long, or has a NUL character');
      return value;
    };
    const value = read(exchange);
    return value instanceof Promise ? value.then(checked) : checked(value);
  };

function environmentOf(values: ReadonlyMap<string, string>): ChildEnvironment {
  // Values that were asked for arrive in any order.
  const entries = [...values].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const ends = entries.map(([, value]) => expiryOf(value)).filter((end) => end !== undefined);
  return {
    values: Object.fromEntries(entries),
    digest: createHash('sha256').update(JSON.stringify(entries)).digest('base64'),
    ...(ends.length === 0 ? {} : { expiresAt: Math.min(...ends) }),
  };
}

/** A variable, and its place in the configuration. */
interface Variable {
  readonly name: string;
  readonly source: InjectedValue;
  readonly place: string;
}

/** The client hears the name of the variable, and never its value. No login adds a header to the request. */
function missing({ name, source, place }: Variable, exchange: Exchange, why: string): GatewayError {
  const options = {
    message: `no value for the variable ${name}: ${why}`,
    by: { rule: `env ${name}`, place },
  };
  return source.kind === 'header'
    ? new GatewayError('mcp_caller_header_missing', options)
    : loginError(exchange, 'mcp_caller_value_missing', 'missing_claim', options);
}

function readerOf(variable: Variable, stepsOf: (uses: readonly PolicyUse[]) => readonly Steps[]): ReadValue {
  const { source, name, place } = variable;
  if (source.kind === 'header')
    return (exchange) => {
      const value = exchange.request.header(source.header);
      if (value === undefined || value === '')
        throw missing(variable, exchange, `the request has no header ${source.header}`);
      return textOf(value);
    };
  if (source.kind === 'claim')
    return (exchange) => {
      const claims = exchange.identity?.claims ?? {};
      const value = Object.hasOwn(claims, source.claim) ? claims[source.claim] : undefined;
      const isText = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      if (!isText || value === '')
        throw missing(variable, exchange, `the token of the caller has no text in the claim ${source.claim}`);
      return String(value);
    };
  const read = exchangedValue(variable, stepsOf(source.policies));
  const fail = (error: unknown): never => {
    throw asGatewayError(error).with({ by: { rule: `env ${name}`, place } });
  };
  return (exchange) => {
    try {
      const value = read(exchange);
      return value instanceof Promise ? value.catch(fail) : value;
    } catch (error) {
      return fail(error);
    }
  };
}

/** A character of a field is one byte. Bytes that are no UTF-8 stay the characters of latin1. */
function textOf(field: string): string {
  const bytes = Buffer.from(field, 'latin1');
  return isUtf8(bytes) ? bytes.toString('utf8') : field;
}

/** Runs the policies on a request of their own, and takes the credential that they put into it. */
function exchangedValue(variable: Variable, steps: readonly Steps[]): ReadValue {
  const valueIn = (request: TargetRequest): string => {
    const line = request.requestHeaders.lines.find(([header]) => header === 'authorization');
    if (line === undefined) throw missing(variable, request, 'the exchange came to no token');
    return line[1];
  };
  return (exchange) => {
    const request = new TargetRequest(exchange, '/');
    const waits = steps.flatMap((step) => {
      const done = step.onRequest?.(request);
      return done instanceof Promise ? [done] : [];
    });
    return waits.length === 0 ? valueIn(request) : Promise.all(waits).then(() => valueIn(request));
  };
}
