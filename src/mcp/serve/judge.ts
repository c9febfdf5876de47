import { GatewayError, NotEvaluated } from '../../errors.ts';
import type { HttpRequest } from '../../http/index.ts';
import type { Limits, McpBackend } from '../../model/index.ts';
import type { Caller, ItemCall, ItemRefusal, McpItem, McpVerdict } from '../contract.ts';
import { maxShown, unknownItemError } from '../items/itemFilters.ts';
import { ItemRules } from '../items/itemRules.ts';
import { refusalError } from '../items/itemRefusal.ts';
import { completedBy, itemOf, listShape, type NamedItem } from '../items/items.ts';
import { namingOf, type Naming, type OwnItem } from '../items/naming.ts';
import type { Envelope } from '../json/envelope.ts';
import { clientRequests } from '../messages/mcpMethods.ts';
import { rpcCodeOf } from '../messages/rpcError.ts';
import { checkOriginAndMethod, checkPost, checkStream, checkVersion, asMessageError } from './acceptance.ts';
import { isCounted } from './countFirst.ts';
import { itemCallOf } from './itemCall.ts';
import { isModern, modernMessage, modernMeta } from './modernPost.ts';
import { beginsSession, readPost, type Post } from './readPost.ts';
import { faults, invalid } from './refusal.ts';
import { opensSse, sseSessionOf } from './sseRequests.ts';
import { progressToken } from './targetRequest.ts';

/**
 * Judges the messages of a POST as far as the configuration alone tells: names, views and rules. No session is looked
 * up, and no server is asked.
 * @param explain is called for each message about an item whose owner is known; its result goes with the verdict
 * @throws GatewayError for a request that no session would get; nothing is judged of other methods than POST
 */
export async function judgeMessages<Explanation>(
  settings: McpBackend,
  caller: Caller,
  request: HttpRequest,
  limits: Limits,
  explain: (item: McpItem, call: ItemCall) => Explanation,
): Promise<readonly (readonly [McpVerdict, Explanation | undefined])[]> {
  checkOriginAndMethod(request, settings);
  if (request.method !== 'POST') {
    if (request.method === 'DELETE') checkVersion(request);
    else if (!opensSse(request)) checkStream(request);
    return [];
  }
  checkPost(request);
  const body = await bodyOf(request, limits);
  const post = await readPost(body, { maxDepth: limits.maxJsonDepth, maxNodes: limits.maxJsonNodes });
  checkRevision(request, post);
  const naming = namingOf(settings);
  const rules = ItemRules.of(caller, naming.view);
  const basis: Basis = { naming, rules, isBatch: post.batch };
  const verdicts: (readonly [McpVerdict, Explanation | undefined])[] = [];
  for (const message of post.messages) {
    const call = message.kind === 'response' ? undefined : itemCallOf(request, message, settings);
    const owners: OwnItem[] = [];
    const ruled = judged(message, basis, { call, owners });
    const verdict = await unlessLater(ruled, { caller, call, owners });
    const { kind, target, name } = verdict;
    const known = kind !== undefined && target !== undefined && name !== undefined && call !== undefined;
    verdicts.push([verdict, known ? explain({ kind, target, name }, call) : undefined]);
  }
  return verdicts;
}

/** @throws GatewayError */
async function bodyOf(request: HttpRequest, limits: Limits): Promise<Buffer> {
  try {
    return await request.readBody(limits.maxMcpRequestBytes);
  } catch (error) {
    throw asMessageError(error, request, limits);
  }
}

/** The checks of the revision that a POST is of. @throws GatewayError */
function checkRevision(request: HttpRequest, post: Post): void {
  if (sseSessionOf(request) !== undefined) checkVersion(request);
  else if (isModern({ request }, post)) {
    const message = modernMessage(post);
    if (message.kind === 'request') modernMeta(request, message);
  } else if (!beginsSession(post)) checkVersion(request);
}

/** The parts of the configuration that judge every message of a request. */
interface Basis {
  readonly naming: Naming;
  readonly rules: ItemRules | undefined;
  /** The request has a list of messages, so no message of it has an HTTP status of its own. */
  readonly isBatch: boolean;
}

interface Later {
  readonly caller: Caller;
  readonly call: ItemCall | undefined;
  /** The targets that may own the item. */
  readonly owners: readonly OwnItem[];
}

/** Services outside and counters decide about a request that the rules allow. */
async function unlessLater(verdict: McpVerdict, { caller, call, owners }: Later): Promise<McpVerdict> {
  if (verdict.verdict === 'refused' || call === undefined) return verdict;
  const open: string[] = [];
  if ((caller.checksOf?.(verdict.method).request.length ?? 0) > 0)
    open.push('mcpGuardrails asks its processors');
  const { kind } = verdict;
  if (kind !== undefined && isCounted(call))
    for (const owner of owners) {
      const counted = await countedBy(caller, { kind, ...owner }, call);
      if (counted !== undefined && !open.includes(counted)) open.push(counted);
    }
  if (open.length === 0 || verdict.verdict === 'not evaluated') return verdict;
  return { ...verdict, verdict: 'not evaluated', because: open.join('; ') };
}

/** Nothing is counted for a request that is explained. @returns the reason why a counter was not asked */
async function countedBy({ count }: Caller, item: McpItem, call: ItemCall): Promise<string | undefined> {
  try {
    await count?.(item, call);
    return undefined;
  } catch (error) {
    if (error instanceof NotEvaluated) return error.message;
    throw error;
  }
}

/** The call of a message, and the possible owners of its item. */
interface Judging {
  readonly call: ItemCall | undefined;
  /** Gets the targets that may own the item. */
  readonly owners: OwnItem[];
}

function judged(message: Envelope, basis: Basis, { call, owners }: Judging): McpVerdict {
  if (message.kind === 'response')
    return { method: 'response', verdict: 'not evaluated', because: 'the session knows its request' };
  const { naming, rules } = basis;
  const method = message.method.slice(0, maxShown);
  const item = itemOf(message);
  if (typeof item === 'string')
    return item === 'unnamed' && rules === undefined && !naming.federated
      ? { method, verdict: 'forwarded' }
      : refused({ method }, invalid(faults[item]));
  const token = progressToken(message);
  if (typeof token === 'string') return refused({ method }, invalid(faults[token]));
  if (item === undefined)
    return message.kind === 'request' && !isServed(message.method, basis)
      ? refused({ method }, new GatewayError('mcp_unknown_method'))
      : { method, verdict: 'forwarded' };
  const about = { method, kind: item.kind, item: item.name.slice(0, maxShown) };
  const found = naming.ownItem(item.kind, item.name);
  if (found === undefined) return unknown(about, unknownItemError(item));
  owners.push(
    ...('target' in found ? [found] : found.candidates.map((target) => ownName(naming, item, target))),
  );
  const verdicts = owners.map((owner) => judgedBy(owner, { message, item, call }, about, basis));
  const [first] = verdicts;
  if (first !== undefined && verdicts.length === 1) return first;
  const open = verdicts.find(({ verdict }) => verdict !== 'refused');
  if (open === undefined && first !== undefined)
    return { ...first, because: 'the rules refuse it at every target' };
  return {
    ...about,
    verdict: 'not evaluated',
    because: 'the lists of the targets decide which of them has the name',
  };
}

/** Requests that the gateway answers before it looks at their method, or for clients of the newest revision. */
const handledBefore: ReadonlySet<string> = new Set(['initialize', 'server/discover', 'subscriptions/listen']);

/** Does the gateway serve a request that names no item? */
function isServed(method: string, { naming, rules }: Basis): boolean {
  if (handledBefore.has(method)) return true;
  if (!naming.federated) return rules === undefined || clientRequests.has(method);
  return (
    method === 'ping' ||
    method === 'logging/setLevel' ||
    listShape(method) !== undefined ||
    method.startsWith('tasks/')
  );
}

/** The own name of a target, as far as it can be read from the name of the client. */
const ownName = (naming: Naming, { name }: NamedItem, target: string): OwnItem => ({
  target,
  name: name.slice(naming.prefixOf(target).length),
});

function judgedBy(
  { target, name }: OwnItem,
  asked: { readonly message: Envelope; readonly item: NamedItem; readonly call: ItemCall | undefined },
  about: Omit<McpVerdict, 'verdict'>,
  { rules, isBatch }: Basis,
): McpVerdict {
  const { message, item, call } = asked;
  const place = { ...about, target, name: name.slice(0, maxShown) };
  if (rules === undefined) return { ...place, verdict: 'forwarded' };
  const own = { kind: item.kind, target, name, template: item.template };
  let by = rules.refusalOf(own, call);
  if (by === undefined && item.template) {
    const completed = completedBy(message);
    if (typeof completed === 'string') return refused(place, invalid(faults[completed]));
    by = rules.refusalOfExpansion(target, name, completed.values, call);
  }
  if (by === undefined) return { ...place, verdict: 'forwarded' };
  const isSeen = by.fault !== undefined && rules.allows(own);
  return refused(place, refusalError(unknownItemError(item), by, isSeen), by, isBatch);
}

/** No rule refuses the item: the configuration has no target for its name. */
const unknown = (about: Omit<McpVerdict, 'verdict'>, error: GatewayError): McpVerdict => {
  const verdict = refused(about, error);
  return { ...verdict, because: `${verdict.because ?? ''}; no target has the name` };
};

/** @param isBatch the refusal has no HTTP status of its own */
function refused(
  about: Omit<McpVerdict, 'verdict'>,
  thrown: GatewayError,
  by?: ItemRefusal,
  isBatch = false,
): McpVerdict {
  const { code, message, entry } = thrown;
  const answersByStatus = by?.stepUp !== undefined && !isBatch;
  return {
    ...about,
    verdict: 'refused',
    because: message,
    errorCode: rpcCodeOf(thrown),
    ...(answersByStatus ? { status: entry.status, error: code } : {}),
    ...(by?.policy === undefined ? {} : { policy: by.policy }),
    ...(by === undefined ? {} : { rule: by.rule }),
    ...(by?.place === undefined ? {} : { place: by.place }),
  };
}
