import { asGatewayError } from '../../errors.ts';
import { readList } from '../federation/targetLists.ts';
import { listOfKind, type NamedItem } from '../items/items.ts';
import type { CallLimit } from '../limits/callTimeouts.ts';
import { respondError } from '../session/callAnswer.ts';
import { BroadCall } from './broadCall.ts';
import type { Dispatch } from './dispatchContext.ts';
import { prepareForTarget, type TargetRequest } from './targetRequest.ts';

/** A request about an item of the only target. */
type OpenRequest = Omit<TargetRequest, 'own' | 'item'> & { readonly item: NamedItem };

/** Sends a request whose name may be a changed one: the list of the only target tells which item is meant. */
export function prepareOpenName(x: Dispatch, asked: OpenRequest, limit: CallLimit): () => void {
  return () => {
    const { session, answer } = x;
    const failed = (error: unknown): void => respondError(answer, asGatewayError(error), call.idText);
    const call = new BroadCall(x, asked.request, x.enter());
    session.unsent.add(call);
    session.streams.expect(answer);
    ownName(x, asked, limit, call)
      .finally(() => {
        session.unsent.delete(call);
        call.settled();
        session.touch();
      })
      .then(
        (own) => {
          if (call.leave()) prepareForTarget(x, { ...asked, own })();
        },
        (error: unknown) => {
          if (call.leave()) failed(error);
        },
      )
      .catch((error: unknown) => {
        session.log.error('Request failed', { error: String(error) });
        failed(error);
      });
  };
}

/** @throws GatewayError where the target does not list its items (by the promise) */
async function ownName(
  { naming, session, ways }: Dispatch,
  { target: connection, item: { kind, name: shown } }: OpenRequest,
  limit: CallLimit,
  call: BroadCall,
): Promise<string | undefined> {
  const target = session.targets.nameOf(connection);
  const [method, shape] = listOfKind(kind);
  const by = { ...session.wayTo(connection, ways), call };
  const items = await readList({ target, connection, naming, limit, by, log: session.log }, method, shape);
  const found = items.find(
    ({ name }) => name !== undefined && naming.shownName(kind, target, name) === shown,
  );
  // A name that looks like a changed one, and is none.
  return found?.name ?? naming.itemBehindPrefix(kind, target, shown)?.name;
}
