import type { Destination, Endpoint, UpstreamConnection } from '../../upstream/index.ts';
import type { FoundSession, Persistence, SessionRequest } from './persistence.ts';

/** The destination of a request that is not left to chance: the address of its session, or of its key. */
export class AffinityRouting {
  /** The key of the backend's affinity; equal for requests that are to go to the same address. */
  key: number | undefined;
  loadFactor = 0;
  /** Sessions of the route, and the one of this request. */
  readonly persistence: Persistence | undefined;
  readonly session: FoundSession | undefined;
  /** Place of the backend that was chosen, in the list of the route. */
  backend = 0;
  private begun = false;
  /** The address of the session has no room this once. */
  private full = false;

  constructor(persistence?: Persistence, session?: FoundSession) {
    this.persistence = persistence;
    this.session = session;
  }

  /** True where another address would not do as well. */
  get bound(): boolean {
    return this.key !== undefined || this.session?.endpoint !== undefined;
  }

  /** @param fresh the connection before died under the request: a new one to the same address */
  take(destination: Destination, fresh: boolean): UpstreamConnection | undefined {
    const endpoint = this.session?.endpoint;
    // A further try is there because of how the first one went: it goes where there is reason to hope.
    const first = !this.begun;
    this.begun = true;
    if (endpoint !== undefined && (first || fresh)) {
      if (endpoint.hasRoom) return endpoint.take(fresh);
      this.full = true;
    }
    if (this.key === undefined) return destination.take(fresh);
    return destination.takeFor(this.key, this.loadFactor, fresh);
  }

  takeOther(destination: Destination, tried: readonly Endpoint[]): UpstreamConnection | undefined {
    return destination.takeOther(tried, this.key);
  }

  answered(x: SessionRequest, endpoint: Endpoint): void {
    this.persistence?.answered(x, this.backend, endpoint, this.session, this.full);
  }
}
