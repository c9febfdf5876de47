import type { Era } from '../../messages/eras.ts';

/** Servers that a process knows of; configurations change their servers slowly. */
const maxServers = 4_096;
/** A server that refused an era is asked in it again after this time, in milliseconds: its program may be another one. */
const refusalMs = 30 * 60_000;

export const otherEra: Readonly<Record<Era, Era>> = { legacy: 'modern', modern: 'legacy' };

/** The finding about one era of a server. */
interface Finding {
  readonly speaks: boolean;
  /** Milliseconds since the epoch; absent: until the server proves it wrong. */
  readonly until?: number;
}

/** The eras that servers speak, as far as this process has found out. */
export class EraVerdicts {
  private readonly now: () => number;
  private readonly known = new Map<string, { [One in Era]?: Finding }>();

  constructor(now: () => number) {
    this.now = now;
  }

  /** The era in which to begin with a server: that of the client, unless the server has refused it. */
  first(server: string, client: Era): Era {
    const other = otherEra[client];
    return this.speaks(server, client) === false && this.speaks(server, other) === true ? other : client;
  }

  /** Does the server speak the era? Undefined where nobody has found out. */
  speaks(server: string, era: Era): boolean | undefined {
    const found = this.known.get(server)?.[era];
    return found?.until !== undefined && this.now() >= found.until ? undefined : found?.speaks;
  }

  /** @returns whether that was not known before */
  record(server: string, era: Era, speaks: boolean): boolean {
    if (this.speaks(server, era) === speaks) return false;
    const finding: Finding = { speaks, ...(!speaks && { until: this.now() + refusalMs }) };
    this.known.set(server, { ...this.known.get(server), [era]: finding });
    if (this.known.size > maxServers) {
      const [oldest] = this.known.keys();
      this.known.delete(oldest!);
    }
    return true;
  }
}
