import { asGatewayError, GatewayError, NotEvaluated } from '../../errors.ts';
import type { HttpRequest } from '../../http/index.ts';
import type { Limits, McpBackend } from '../../model/index.ts';
import type { Caller, ItemCall, ItemRefusal, McpItem, McpVerdict } from '../contract.ts';
import { maxShown, unknownItemError } from '../items/itemFilters.ts';
import { ItemRules } from '../items/itemRules.ts';
import { itemOf, type NamedItem } from '../items/items.ts';
import { namingOf, type Naming, type OwnItem } from '../items/naming.ts';
import type { Envelope } from '../json/envelope.ts';
import { isJson, readAccept } from '../messages/accept.ts';
import { rpcCodeOf } from '../messages/rpcError.ts';
import { itemCallOf } from './itemCall.ts';
import { originAllowed } from './origin.ts';
import { readPost } from './readPost.ts';
import { faults, invalid } from './refusal.ts';

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
  if (!originAllowed(request, settings.dnsRebindingProtection))
    throw new GatewayError('origin_refused', { detail: `origin ${request.header('origin') ?? '-'}` });
  if (request.method !== 'POST') return [];
  const accepted = readAccept(request.header('accept'));
  if (!accepted.json && !accepted.events) throw new GatewayError('mcp_not_acceptable');
  if (!isJson(request.header('content-type'))) throw new GatewayError('mcp_unsupported_media');
  const body = await request.readBody(limits.maxMcpRequestBytes);
  const post = await readPost(body, { maxDepth: limits.maxJsonDepth, maxNodes: limits.maxJsonNodes });
  const naming = namingOf(settings);
  const rules = ItemRules.of(caller, naming.view);
  const verdicts: (readonly [McpVerdict, Explanation | undefined])[] = [];
  for (const message of post.messages) {
    const call = message.kind === 'response' ? undefined : itemCallOf(request, message);
    const owners: OwnItem[] = [];
    const ruled = judged(message, naming, { rules, call, owners });
    const verdict = await unlessLater(ruled, { caller, call, owners });
    const { kind, target, name } = verdict;
    const known = kind !== undefined && target !== undefined && name !== undefined && call !== undefined;
    verdicts.push([verdict, known ? explain({ kind, target, name }, call) : undefined]);
  }
  return verdicts;
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
  if (kind !== undefined)
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

interface Judging {
  readonly rules: ItemRules | undefined;
  readonly call: ItemCall | undefined;
  /** Gets the targets that may own the item. */
  readonly owners: OwnItem[];
}

function judged(message: Envelope, naming: Naming, { rules, call, owners }: Judging): McpVerdict {
  if (message.kind === 'response')
    return { method: 'response', verdict: 'not evaluated', because: 'the session knows its request' };
  const method = message.method.slice(0, maxShown);
  const item = itemOf(message);
  if (item === undefined) return { method, verdict: 'forwarded' };
  if (typeof item === 'string')
    return item === 'unnamed' && rules === undefined
      ? { method, verdict: 'forwarded' }
      : refused({ method }, invalid(faults[item]));
  const about = { method, kind: item.kind, item: item.name.slice(0, maxShown) };
  const found = naming.ownItem(item.kind, item.name);
  if (found === undefined) return unknown(about, unknownItemError(item));
  owners.push(
    ...('target' in found ? [found] : found.candidates.map((target) => ownName(naming, item, target))),
  );
  const verdicts = owners.map((owner) => judgedBy(owner, { item, call }, about, rules));
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

/** The own name of a target, as far as it can be read from the name of the client. */
const ownName = (naming: Naming, { name }: NamedItem, target: string): OwnItem => ({
  target,
  name: name.slice(naming.prefixOf(target).length),
});

function judgedBy(
  { target, name }: OwnItem,
  { item, call }: { readonly item: NamedItem; readonly call: ItemCall | undefined },
  about: Omit<McpVerdict, 'verdict'>,
  rules: ItemRules | undefined,
): McpVerdict {
  const place = { ...about, target, name: name.slice(0, maxShown) };
  const { kind, template } = item;
  const by = rules?.refusalOf({ kind, target, name, template }, call);
  return by === undefined ? { ...place, verdict: 'forwarded' } : refused(place, unknownItemError(item), by);
}

/** No rule refuses the item: the configuration has no target for its name. */
const unknown = (about: Omit<McpVerdict, 'verdict'>, error: GatewayError): McpVerdict => {
  const verdict = refused(about, error);
  return { ...verdict, because: `${verdict.because ?? ''}; no target has the name` };
};

const refused = (about: Omit<McpVerdict, 'verdict'>, error: unknown, by?: ItemRefusal): McpVerdict => {
  const known = asGatewayError(error);
  return { ...about, verdict: 'refused', because: known.message, errorCode: rpcCodeOf(known), ...by };
};
