import { OwnRequest, type AnswerTaker, type OwnRequestStart } from '../../../upstream/index.ts';
import { endpointOf, type Home } from './home.ts';

export interface ExchangeStart extends OwnRequestStart {
  /** The session that the request is for. */
  readonly home: Home;
}

/** A request of the gateway's own to the address of an MCP server that knows the session. */
export class Exchange extends OwnRequest {
  private readonly home: Home;

  constructor(start: ExchangeStart, taker: AnswerTaker) {
    super(start, taker);
    this.home = start.home;
  }

  protected override connect(fresh: boolean): void {
    const { destination, home: session } = this;
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
    const home =
      endpoint !== undefined && destination.known.includes(endpoint) && destination.accepts(endpoint)
        ? endpoint
        : undefined;
    if (home === undefined || destination.known.length === 1) this.takeAny(fresh);
    else this.takeFrom(home, fresh);
  }
}
