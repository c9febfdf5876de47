import type { Era } from '../../messages/eras.ts';

/** Servers that a process knows of; configurations change their servers slowly. */
const maxServers = 4_096;

export const otherEra: Readonly<Record<Era, Era>> = { legacy: 'modern', modern: 'legacy' };

/** The eras that servers speak, as far as this process has found out. */
export class EraVerdicts {
  private readonly known = new Map<string, { [One in Era]?: boolean }>();

  /** The era in which to begin with a server: that of the client, unless the server has refused it. */
  first(server: string, client: Era): Era {
    const speaks = this.known.get(server);
    return speaks?.[client] === false && speaks[otherEra[client]] === true ? otherEra[client] : client;
  }

  /** Does the server speak the era? Undefined where nobody has found out. */
  speaks(server: string, era: Era): boolean | undefined {
    return this.known.get(server)?.[era];
  }

  /** @returns whether that was not known before */
  record(server: string, era: Era, speaks: boolean): boolean {
    const before = this.known.get(server) ?? {};
    if (before[era] === speaks) return false;
    this.known.set(server, { ...before, [era]: speaks });
    if (this.known.size > maxServers) {
      const [oldest] = this.known.keys();
      this.known.delete(oldest!);
    }
    return true;
  }
}
