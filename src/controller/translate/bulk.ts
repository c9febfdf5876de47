import type { Backend, HttpBackend, PolicyUse, Route, ServerTls } from '../../model/index.ts';

/**
 * Limits of a part of a model beside what its object says itself, in bytes of JSON. A part that no line of the
 * stream can carry would keep every later model from the proxies, with the updates of everybody else in it.
 */
export const limits = {
  /** Certificates, keys and authorities of one listener. */
  listener: 1_048_576,
  /** Certificates and keys of all listeners of a ListenerSet, which somebody else than the Gateway's owner may write. */
  listenerSet: 2_097_152,
  /** The same of the Gateway itself. */
  gateway: 8_388_608,
  /** Policies, authorities and programs of one rule. */
  rule: 524_288,
  /** The same of all rules of a route. */
  route: 2_097_152,
} as const;

/** The rest of a limit. */
export interface Budget {
  left: number;
}

/** Many rules share what a policy says: it is measured once, and objects of a model never change. */
const measured = new WeakMap<object, number>();

function bytesOf(value: object): number {
  let bytes = measured.get(value);
  if (bytes === undefined) measured.set(value, (bytes = Buffer.byteLength(JSON.stringify(value))));
  return bytes;
}

/**
 * The reason why a part exceeds its budget; undefined if it does not, and then the budget shrinks by what it
 * draws.
 */
function overdrawn({ what, bytes, most, of, draws = bytes }: Drawing, budget: Budget): string | undefined {
  if (bytes > most) return `${what} of ${bytes} bytes, where ${most} are possible`;
  if (draws > budget.left) return `${what} of ${draws} bytes, where ${of} has ${budget.left} left`;
  budget.left -= draws;
  return undefined;
}

interface Drawing {
  readonly what: string;
  readonly bytes: number;
  readonly most: number;
  /** The owner of the budget. */
  readonly of: string;
  readonly draws?: number;
}

/** The authorities for clients are those of the Gateway, also on the listeners of others: they draw nothing. */
export function tlsTooLarge(tls: ServerTls, budget: Budget, of: string): string | undefined {
  const bytes = bytesOf(tls);
  const draws = tls.root === undefined ? bytes : bytes - bytesOf(tls.root);
  return overdrawn({ what: 'certificates and keys', bytes, most: limits.listener, of, draws }, budget);
}

export const ruleTooLarge = (route: Route, budget: Budget): string | undefined =>
  overdrawn(
    { what: 'policies and certificates', bytes: ruleBytes(route), most: limits.rule, of: 'the route' },
    budget,
  );

/** The size of an object bounds the rule's own text; its references are counted. */
function ruleBytes({ policies, backends, mirrors = [] }: Route): number {
  let bytes = policyBytes(policies);
  for (const backend of backends) bytes += backendBytes(backend);
  for (const { backend } of mirrors) bytes += httpBytes(backend);
  return bytes;
}

function backendBytes(backend: Backend): number {
  if (backend.kind === 'http') return httpBytes(backend);
  if (backend.kind !== 'mcp') return 0;
  const { targets, view } = backend;
  return targets.reduce((sum, target) => sum + partBytes(target), view === undefined ? 0 : bytesOf(view));
}

/** Targets are made anew in each translation, while their large parts stay the same objects. */
const partBytes = (target: object): number => {
  const parts: readonly unknown[] = Object.values(target);
  return parts.reduce<number>(
    (sum, part) => sum + (typeof part === 'object' && part !== null ? bytesOf(part) : String(part).length),
    0,
  );
};

const httpBytes = ({ policies = [], tls }: HttpBackend): number =>
  policyBytes(policies) + (tls === undefined ? 0 : bytesOf(tls));

const policyBytes = (policies: readonly PolicyUse[]): number =>
  policies.reduce((sum, { settings }) => {
    return sum + (typeof settings === 'object' && settings !== null ? bytesOf(settings) : 0);
  }, 0);
