import { GatewayError } from '../../errors.ts';
import type { ItemRules } from '../items/itemRules.ts';
import { nextCursorOf } from '../items/listFilter.ts';
import { lacksMethod } from '../json/errorMember.ts';
import { memberOf, wholeOf } from '../json/envelope.ts';
import { ownMessage } from '../json/ownMessage.ts';
import { Elements, splice } from '../json/scan.ts';
import { targetError } from '../messages/rpcError.ts';
import type { Session } from '../session/session.ts';
import { isObject } from './capabilities.ts';
import type { Federation } from './federation.ts';
import { fromAll } from './fromAll.ts';
import type { ListTools } from './mergedList.ts';
import type { Member } from './member.ts';
import { ask } from './targetAsk.ts';

const method = 'tasks/list';
const maxPages = 64;

/**
 * The caller's tasks of all targets, as JSON texts with the client's handles (MCP 2025-11-25, "Tasks").
 * @throws GatewayError
 */
export async function mergedTasks(
  federation: Federation,
  session: Session,
  itemRules: ItemRules | undefined,
  tools: ListTools,
): Promise<readonly string[]> {
  const lists = await fromAll(
    federation,
    (member) => tasksOf(member, session, itemRules, tools),
    () => undefined,
  );
  return lists.flatMap(({ value }) => value);
}

async function tasksOf(
  member: Member,
  session: Session,
  itemRules: ItemRules | undefined,
  { cell, limit, headers, wayTo, call }: ListTools,
): Promise<readonly string[]> {
  const connection = await member.connected();
  const tasks = member.facts?.capabilities['tasks'];
  if (!isObject(tasks) || tasks['list'] === undefined) return [];
  const view = session.targets
    .tasksOf(connection)
    .view(ownMessage(method), session.targets.readerOf(connection), undefined, itemRules);
  const by = { ...wayTo(connection), headers, ...(call && { call }) };
  const found: string[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < maxPages; page++) {
    const since = performance.now();
    const params = cursor && `{"cursor":${cursor}}`;
    const response = await ask(connection, method, params, limit(member.name), by);
    cell(member.name, method).ended(response.isError ? 'error' : 'ok', performance.now() - since);
    if (page === 0 && lacksMethod(response)) return [];
    const shown = response.isError ? undefined : view.filter(response);
    if (shown === undefined || shown instanceof GatewayError)
      throw shown ?? targetError('mcp_target_failed', member.name, `answered ${method} with an error`);
    for (const task of elementsOf(splice(response.text, shown.edits))) found.push(task);
    cursor = nextCursorOf(response);
    if (cursor === undefined) return found;
  }
  throw targetError('mcp_target_failed', member.name, `answered ${method} with a list that is too long`);
}

function elementsOf(text: string): string[] {
  const result = memberOf(text, wholeOf(text), 'result');
  const list = typeof result === 'object' ? memberOf(text, result, 'tasks') : undefined;
  if (typeof list !== 'object') return [];
  const elements = new Elements(text, list.start);
  const found: string[] = [];
  while (elements.next()) found.push(text.slice(elements.start, elements.end));
  return found;
}
