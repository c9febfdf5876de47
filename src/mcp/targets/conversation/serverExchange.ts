import { OwnRequest, type ResponseHandler, type OwnRequestStart } from '../../../upstream/index.ts';
import { endpointOf, type PinnedSession } from './pinnedSession.ts';

export interface ServerExchangeStart extends OwnRequestStart {
  /** The session that the request is for. */
  readonly session: PinnedSession;
}

/** A request of the gateway's own to the address of an MCP server that knows the session. */
export class ServerExchange extends OwnRequest {
  private readonly session: PinnedSession;

  constructor(start: ServerExchangeStart, taker: ResponseHandler) {
    super(start, taker);
    this.session = start.session;
  }

  protected override connect(fresh: boolean): void {
    const { destination, session } = this;
    const endpoint = endpointOf(session, destination);
    const { looking } = destination.resolution;
    if (endpoint === undefined && session.address !== undefined && looking !== undefined) {
      // Another address would not know the session, and the gateway would believe it.
      void looking.then(() => {
        if (!this.over) this.connect(fresh);
      });
      return;
    }
    // An address that is gone or does not work takes its sessions along: another one will say that it knows none.
    const pinned =
      endpoint !== undefined && destination.known.includes(endpoint) && destination.accepts(endpoint)
        ? endpoint
        : undefined;
    if (pinned === undefined || destination.known.length === 1) this.takeAny(fresh);
    else this.takeFrom(pinned, fresh);
  }
}
