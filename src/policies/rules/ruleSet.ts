import {
  stepsSpent,
  unknownValue,
  WorkSpent,
  type CelContext,
  type Members,
  type Program,
} from '../../cel/index.ts';
import { catalogue, GatewayError, type DecidedBy } from '../../errors.ts';
import type { ItemCall, ItemRefusal, McpItem, ToolNames } from '../../mcp/contract.ts';
import { compiled } from '../attributes/compiled.ts';
import { contextFor, usesPath, withPath, type CallValues, type ContextOf } from '../attributes/context.ts';
import { toolNamesOf } from './toolNames.ts';
import { evaluate, expressionWork } from '../attributes/evaluate.ts';
import { failureReason } from '../attributes/failureReason.ts';
import type { Exchange, Identity, RuleVerdict, Steps } from '../policy.ts';
import { callReader, isCallTime, unknownCall, usesWhole } from './callTime.ts';
import { valueOfFailed } from './otherKinds.ts';
import { always, ruleProblem, type Rule, type RuleSetSettings } from './schema.ts';
import { allScopes, heldScopes, stepUpOf, type HeldScopes } from './scopes.ts';
import { Verdicts } from './verdicts.ts';

/** The rule that refuses. */
export interface RuleRefusal {
  /** Its name, or its effect and expression; the rules, where none of several allows. */
  readonly rule: string;
  /** Its place below the policy, such as `.rules[0]`; that of the list, where none of several allows. */
  readonly place: string;
  /** The explanation for the caller, if a rule has one. */
  readonly message?: string;
  /** All scopes that the caller needs, some of which are missing. */
  readonly scopes?: readonly string[];
}

/**
 * A rule set ready to judge. Its decision: any `deny` that is true or fails refuses; every `require` must be true; where
 * `allow` rules stand one must be true. Then the caller needs the scopes of every true or failing `scopes` rule. No rules
 * let everybody in.
 */
export interface RuleSet {
  /**
   * Judges the request as a whole; names the rule that refuses, and the limit where it ran into one, or undefined.
   * Absent where every rule is about items.
   */
  readonly gate?: (exchange: Exchange) => RuleRefusal | undefined;
  /**
   * Judges one call of an MCP item with all rules, undefined where they allow it; absent where none is about items.
   * Without a call it judges whether the caller sees the item: whether the rules may allow some call of it.
   */
  readonly refusalOfItem?: (exchange: Exchange, item: McpItem, call?: ItemCall) => ItemRefusal | undefined;
  /** The scopes that the rules require of the request, or of a call; absent where no rule requires any. */
  readonly neededScopes?: NonNullable<Steps['neededScopes']>;
  /** Every scope that some rule requires. */
  readonly ruleScopes: readonly string[];
  /** The names of tools and arguments in the rules. */
  readonly toolNames: readonly ToolNames[];
  /** `refusalOfItem` looks at nothing but the item and the identity. */
  readonly itemsByIdentity: boolean;
  /** The value of each rule for a request, or for one item; on a budget of work of its own. Absent without rules. */
  readonly explain?: (exchange: Exchange, item?: McpItem, call?: ItemCall) => readonly RuleVerdict[];
  /**
   * The same rules with another expression in one of them; undefined where no rule has the place.
   * @throws Error for an expression that a rule cannot have
   */
  readonly withRule: (place: string, expression: string) => RuleSet | undefined;
}

interface Prepared {
  readonly effect: Rule['effect'];
  readonly message: string | undefined;
  readonly scopes: readonly string[];
  readonly label: string;
  readonly isNamed: boolean;
  readonly place: string;
  /** The policy, the rule and the place, for the log. */
  readonly at: DecidedBy;
  readonly program: Program;
  readonly aboutItems: boolean;
  /** Its decision needs a call. */
  readonly callTime: boolean;
}

/**
 * Rules that use `mcp.*` judge items; the others also judge the request, but only as far as their answer is the same
 * for every item: a `deny` or a `require` always, an `allow` only where no other `allow` is about items (otherwise
 * that one could still let some item through).
 * @param policy the name of the policy that holds the rules, with the member that holds them, for the log
 * @throws Error for an expression that does not compile
 */
export function prepareRules(settings: RuleSetSettings, attributes: Members, policy: string): RuleSet {
  const { rules } = settings;
  const [name = policy, ...below] = policy.split('.');
  const list = [...below.map((member) => `.${member}`), '.rules'].join('');
  const prepared = rules.map((rule, index) =>
    prepare(rule, attributes, { policy: name, place: `${list}[${index}]` }),
  );
  const itemAllows = prepared.some((rule) => rule.aboutItems && rule.effect === 'allow');
  const gate = prepared.filter((rule) => !rule.aboutItems && !(itemAllows && rule.effect === 'allow'));
  return {
    ...(gate.length === 0 ? {} : { gate: gateOf(gate, heldScopes(settings.scopes)) }),
    ...(prepared.some((rule) => rule.aboutItems)
      ? { refusalOfItem: itemJudge(prepared, settings, policy) }
      : {}),
    ...(prepared.some((rule) => rule.effect === 'scopes') ? { neededScopes: scopesOf(prepared) } : {}),
    ruleScopes: allScopes(prepared),
    toolNames: prepared.flatMap(({ program, at, effect }) =>
      toolNamesOf({ program, at, closes: closes.has(effect) }, attributes),
    ),
    itemsByIdentity: onlyClaims(prepared),
    ...(prepared.length === 0 ? {} : { explain: explainerOf(prepared) }),
    withRule(place, expression) {
      const index = prepared.findIndex((rule) => rule.place === place);
      if (index === -1) return undefined;
      const problem = ruleProblem(expression, attributes);
      if (problem !== undefined) throw new Error(problem);
      const changed = rules.map((rule, at) => (at === index ? { ...rule, expression } : rule));
      return prepareRules({ ...settings, rules: changed }, attributes, policy);
    },
  };
}

function prepare(
  rule: Rule,
  attributes: Members,
  { policy, place }: { readonly policy: string; readonly place: string },
): Prepared {
  const program = compiled(rule.expression, attributes, `rule ${rule.expression}`);
  const label = rule.name ?? labelOf(rule);
  return {
    effect: rule.effect,
    place,
    message: rule.message,
    scopes: rule.scopes ?? [],
    label,
    isNamed: rule.name !== undefined,
    at: { policy, rule: label, place },
    program,
    aboutItems: program.uses('mcp'),
    callTime: isCallTime(program),
  };
}

function labelOf({ effect, expression, scopes }: Rule): string {
  if (scopes === undefined) return `${effect}: ${expression}`;
  const label = `requireScopes ${scopes.join(' ')}`;
  return expression === always ? label : `${label}: ${expression}`;
}

/** Names the rule that decides against the caller, whatever the unknown values are. */
function refusal(
  rules: readonly Prepared[],
  run: Run,
  held: ReadonlySet<string> | undefined,
): RuleRefusal | undefined {
  return refusalByRules(rules, run) ?? (held && missingScopes(rules, run, held));
}

/** Names the first rule whose scopes are missing, and all scopes that are needed. */
function missingScopes(
  rules: readonly Prepared[],
  run: Run,
  held: ReadonlySet<string>,
): RuleRefusal | undefined {
  const needed = new Set<string>();
  let refused: RuleRefusal | undefined;
  for (const [rule, value] of requiring(rules, run)) {
    for (const scope of rule.scopes) needed.add(scope);
    if (!rule.scopes.every((scope) => held.has(scope))) refused ??= told(rule, value);
  }
  return refused && { ...refused, scopes: [...needed] };
}

/** The rules that require their scopes, with their values. */
function requiring(
  rules: readonly Prepared[],
  run: Run,
): readonly (readonly [rule: Prepared, value: unknown])[] {
  return rules.flatMap((rule) => {
    if (rule.effect !== 'scopes') return [];
    const value = run(rule);
    // A result that is neither true nor false counts as true: closed.
    return value === false || value === unknownValue ? [] : [[rule, value] as const];
  });
}

function refusalByRules(rules: readonly Prepared[], run: Run): RuleRefusal | undefined {
  for (const rule of rules) {
    if (rule.effect !== 'deny') continue;
    const value = run(rule);
    // A result that is neither true nor false counts as a failure: closed.
    if (value !== false && value !== unknownValue) return told(rule, value);
  }
  for (const rule of rules) {
    if (rule.effect !== 'require') continue;
    const value = run(rule);
    if (value !== true && value !== unknownValue) return told(rule, value);
  }
  const refused: RuleRefusal[] = [];
  for (const rule of rules) {
    if (rule.effect !== 'allow') continue;
    const value = run(rule);
    if (value === true || value === unknownValue) return undefined;
    refused.push(told(rule, value));
  }
  const [only] = refused;
  if (only === undefined || refused.length === 1) return only;
  const place = only.place.slice(0, only.place.lastIndexOf('['));
  const message = refused.find((one) => one.message !== undefined)?.message;
  const rule = refused.map((one) => one.rule).join('; ');
  return { rule, place, ...(message === undefined ? {} : { message }) };
}

/** The rule, and the limit that it ran into, or the reason why a rule failed that refuses where it fails. */
const told = ({ label, place, message, effect, program }: Prepared, value: unknown): RuleRefusal => ({
  rule:
    value instanceof WorkSpent
      ? `${label} (${value.message})`
      : value instanceof Error && closes.has(effect)
        ? `${label} (the rule failed: ${failureReason(value.message, program.source)})`
        : label,
  place,
  ...(message === undefined ? {} : { message }),
});

/** Stands for all anonymous callers, whose claims are equally absent. */
const anonymous: Identity = { issuer: '', subject: '', claims: {} };

/** The same for every request of one verified token (and the process's environment)? */
const onlyClaims = (rules: readonly Prepared[]): boolean =>
  rules.every(
    ({ program }) =>
      !program.isVolatile && program.variables.every((path) => /^(?:jwt|auth|env|mcp)(?:\.|$)/.test(path)),
  );

function gateOf(rules: readonly Prepared[], heldBy: HeldScopes): NonNullable<RuleSet['gate']> {
  const context = contextFor(rules.map((rule) => rule.program));
  const byPath = usesPath(rules.map((rule) => rule.program));
  const judge = (exchange: Exchange): RuleRefusal | undefined => {
    const values = context(exchange);
    const held = heldBy(exchange.identity);
    const refused = refusal(
      rules,
      (rule) => evaluate(rule.program, values, exchange, rule.label, rule.at),
      held,
    );
    if (byPath && refused === undefined && exchange.pathReadings.length > 0)
      judgeReadings(rules, values, exchange, held);
    return refused;
  };
  if (!onlyClaims(rules)) return judge;
  const answers = new WeakMap<Identity, RuleRefusal | null>();
  return (exchange) => {
    const caller = exchange.identity ?? anonymous;
    let answer = answers.get(caller);
    if (answer === undefined) {
      answer = judge(exchange) ?? null;
      // A request that has no work left says nothing about the caller's next one.
      if (exchange.workLeft >= 0) answers.set(caller, answer);
    }
    return answer ?? undefined;
  };
}

/**
 * A caller who is let in with the path as it is written must be let in with every other reading of it.
 * @throws GatewayError ambiguous_path
 */
function judgeReadings(
  rules: readonly Prepared[],
  context: CelContext,
  exchange: Exchange,
  held: ReadonlySet<string>,
): void {
  for (const path of exchange.pathReadings) {
    const values = withPath(context, exchange, path);
    const refused = refusal(
      rules,
      (rule) => evaluate(rule.program, values, exchange, rule.label, rule.at),
      held,
    );
    if (refused !== undefined)
      throw new GatewayError('ambiguous_path', {
        detail: `rule for ${path}: ${refused.rule}`,
        by: refused,
      });
  }
}

function itemJudge(
  rules: readonly Prepared[],
  settings: RuleSetSettings,
  policy: string,
): NonNullable<RuleSet['refusalOfItem']> {
  const judge = itemRefusals(rules, settings, contextFor(rules.map((rule) => rule.program)), policy);
  if (!onlyClaims(rules)) return judge;
  const ofCalls = rules.some((rule) => rule.callTime || rule.effect === 'scopes');
  const answers = new WeakMap<Identity, Verdicts>();
  return (exchange, item, call) => {
    if (ofCalls && call !== undefined) return judge(exchange, item, call);
    const caller = exchange.identity ?? anonymous;
    let known = answers.get(caller);
    if (known === undefined) answers.set(caller, (known = new Verdicts()));
    const id = `${item.kind}\n${item.target}\n${item.name}`;
    let answer = known.get(id);
    if (answer === undefined) {
      answer = judge(exchange, item) ?? 'allowed';
      if (exchange.workLeft >= 0) known.add(id, answer);
    }
    return answer === 'allowed' ? undefined : answer;
  };
}

/** Refusals of one rule set that are shared: the reason of a failure may hold a name that the request chose. */
const maxRefusals = 256;

/** Characters of the rules in a refusal: several rules that all failed to allow an item can be long. */
const maxShown = 512;

function itemRefusals(
  rules: readonly Prepared[],
  { refusal: answer, scopes }: RuleSetSettings,
  context: ContextOf,
  policy: string,
): NonNullable<RuleSet['refusalOfItem']> {
  // The remembered answers share these refusals. There are only a few for each rule.
  const refusals = new Map<string, ItemRefusal>();
  const [name = policy] = policy.split('.');
  const refusalOf = ({ rule, place, message }: RuleRefusal): ItemRefusal => {
    const key = `${place}\n${rule}`;
    let known = refusals.get(key);
    if (known === undefined) {
      const told = answer === 'explained' ? { message: message ?? catalogue.mcp_item_refused.message } : {};
      known = { policy: name, rule: rule.slice(0, maxShown), place, ...told };
      if (refusals.size < maxRefusals) refusals.set(key, known);
    }
    return known;
  };
  const heldBy = heldScopes(scopes);
  const runsOf = itemRuns(rules, context);
  return (exchange, item, call) => {
    const runs = runsOf(exchange, item, call);
    if ('fault' in runs) return { policy: name, rule: 'arguments', fault: runs.fault };
    // Lists show the items for which a client can get more scopes.
    const held = call && heldBy(exchange.identity);
    let refused: RuleRefusal | undefined;
    for (const run of runs) refused ??= refusal(rules, run, held);
    if (refused === undefined) return undefined;
    const known = refusalOf(refused);
    return refused.scopes === undefined ? known : { ...known, stepUp: stepUpOf(exchange, refused.scopes) };
  };
}

/** Judges a rule. */
type Run = (rule: Prepared) => unknown;

/** Judges the rules for an item once for each reading of the path; the fault where no rule can judge its arguments. */
function itemRuns(
  rules: readonly Prepared[],
  context: ContextOf,
): (exchange: Exchange, item: McpItem, call?: ItemCall) => readonly Run[] | { readonly fault: string } {
  const ofCalls = rules.some((rule) => rule.callTime);
  const readCall = callReader(rules.map((rule) => rule.program));
  return (exchange, item, call) => {
    let values: CallValues | undefined;
    if (ofCalls) {
      const read = call === undefined ? unknownCall : readCall(exchange, item, call);
      if ('fault' in read) return read;
      values = read;
    }
    const judged = { exchange, item, call: values };
    const seen = context(exchange, item, values);
    const written = itemRun(seen, judged);
    if (seen.request === undefined || exchange.pathReadings.length === 0) return [written];
    return [written, ...exchange.pathReadings.map((path) => itemRun(withPath(seen, exchange, path), judged))];
  };
}

interface Judged {
  readonly exchange: Exchange;
  readonly item: McpItem;
  /** Undefined where no rule needs a call. */
  readonly call: CallValues | undefined;
}

const itemRun =
  (values: CelContext, { exchange, item, call }: Judged): Run =>
  (rule) => {
    const isOpen = rule.callTime && call?.isOpen === true;
    if (isOpen && usesWhole(rule.program)) return unknownValue;
    const value = evaluate(rule.program, values, exchange, rule.label, rule.at);
    // With known values an operand may decide before a loop takes too many steps.
    if (isOpen && value === stepsSpent) return unknownValue;
    if (!closes.has(rule.effect) || !(value instanceof Error)) return value;
    const run = (context: CelContext): unknown =>
      evaluate(rule.program, context, exchange, rule.label, rule.at);
    const closed = valueOfFailed(run, values, item, call);
    // A value of the call may decide whether the item matters.
    return isOpen && !(closed instanceof Error) && closed !== false ? unknownValue : closed;
  };

/** The scopes that rules require, whether the caller has them or not. */
function scopesOf(rules: readonly Prepared[]): NonNullable<RuleSet['neededScopes']> {
  const context = contextFor(rules.map((rule) => rule.program));
  const runsOf = itemRuns(rules, context);
  const ofRequest = rules.filter((rule) => !rule.aboutItems);
  const dependOnItem = rules.some((rule) => rule.aboutItems && rule.effect === 'scopes');
  const needed = (of: readonly Prepared[], run: Run): readonly string[] =>
    requiring(of, run).flatMap(([rule]) => rule.scopes);
  return (exchange, named) => {
    if (named === undefined) {
      const values = context(exchange);
      const run: Run = (rule) => evaluate(rule.program, values, exchange, rule.label, rule.at);
      return { scopes: needed(ofRequest, run), dependOnItem, isRefused: false };
    }
    const runs = runsOf(exchange, named.item, named.call);
    if ('fault' in runs) return { scopes: [], dependOnItem, isRefused: true };
    return {
      scopes: runs.flatMap((run) => needed(rules, run)),
      dependOnItem,
      isRefused: runs.some((run) => refusalByRules(rules, run) !== undefined),
    };
  };
}

/** Rules that count as true where they fail. */
const closes: ReadonlySet<Rule['effect']> = new Set(['deny', 'scopes']);

/** Characters of a claim in an explanation. */
const maxClaim = 128;
/** Characters of the expression of a named rule in an explanation. */
const maxExpression = 512;

const cut = (text: string, most: number): string => (text.length > most ? `${text.slice(0, most)}…` : text);

function explainerOf(rules: readonly Prepared[]): NonNullable<RuleSet['explain']> {
  let tools: { readonly context: ContextOf; readonly readCall: ReturnType<typeof callReader> } | undefined;
  return (exchange, item, call) => {
    const programs = rules.map((rule) => rule.program);
    tools ??= { context: contextFor(programs), readCall: callReader(programs) };
    // The request has its own budget, which an explanation must not use.
    const own = Object.create(exchange, { workLeft: { value: expressionWork, writable: true } }) as Exchange;
    const read = item === undefined || call === undefined ? unknownCall : tools.readCall(own, item, call);
    const values = tools.context(own, item, 'fault' in read ? unknownCall : read);
    return rules.flatMap((rule) => {
      if (rule.aboutItems && item === undefined) return [];
      const value = rule.program.run(values, own);
      // Records of requests must not hold values of the request; the sender of a trial knows them.
      const reasonOf = ({ message }: Error): string =>
        exchange.trial === undefined ? failureReason(message, rule.program.source) : message;
      const claims = claimsRead(rule.program, exchange.identity);
      return [
        {
          rule: rule.label,
          effect: rule.effect,
          ...(rule.isNamed ? { expression: cut(rule.program.source, maxExpression) } : {}),
          ...(rule.scopes.length === 0 ? {} : { scopes: rule.scopes }),
          place: rule.place,
          value: value === unknownValue ? 'open' : value instanceof Error ? reasonOf(value) : String(value),
          ...(claims === undefined ? {} : { claims }),
        },
      ];
    });
  };
}

/** The claims that a rule reads by name; values as JSON. */
function claimsRead(program: Program, identity: Identity | undefined): RuleVerdict['claims'] {
  const read = program.source.matchAll(/\b(?:jwt|auth\.claims)(?:\.([A-Za-z_]\w*)|\[["']([^"']+)["']\])/g);
  const names = [...new Set(Array.from(read, ([, member, key]) => member ?? key ?? ''))];
  if (names.length === 0) return undefined;
  return Object.fromEntries(
    names.map((name) => {
      const text = JSON.stringify(identity?.claims[name]) ?? 'absent';
      return [name, cut(text, maxClaim)];
    }),
  );
}
