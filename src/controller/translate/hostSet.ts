/**
 * Host names (exact, `*.wildcard`, or undefined for every host), and whether another one has a host in common with any
 * of them. Each question costs as many looks as the name has labels.
 */
export class HostSet {
  private readonly exact = new Set<string>();
  /** The names after `*.`. */
  private readonly wildcards = new Set<string>();
  /** Everything that a wildcard could end with and reach one of the names. */
  private readonly endings = new Set<string>();
  private every = 0;
  private size = 0;

  add(hostname: string | undefined): void {
    this.size++;
    if (hostname === undefined) {
      this.every++;
      return;
    }
    const wild = hostname.startsWith('*.');
    const name = wild ? hostname.slice(2) : hostname;
    (wild ? this.wildcards : this.exact).add(name);
    for (const ending of endingsOf(name)) this.endings.add(ending);
  }

  /** Has any of them a host in common with this one? */
  meets(hostname: string | undefined): boolean {
    if (this.meetsOther(hostname)) return true;
    if (hostname === undefined) return this.size > 0;
    return hostname.startsWith('*.') ? this.wildcards.has(hostname.slice(2)) : this.exact.has(hostname);
  }

  /** The same for a name that is in the set (once), and the others. */
  meetsOther(hostname: string | undefined): boolean {
    if (hostname === undefined) return this.size > 1;
    if (this.every > 0) return true;
    const wild = hostname.startsWith('*.');
    const name = wild ? hostname.slice(2) : hostname;
    if (wild && this.endings.has(name)) return true;
    return endingsOf(name).some((ending) => this.wildcards.has(ending));
  }
}

/** `b.c` and `c` of `a.b.c`. */
function endingsOf(name: string): string[] {
  const endings: string[] = [];
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1))
    endings.push(name.slice(dot + 1));
  return endings;
}
