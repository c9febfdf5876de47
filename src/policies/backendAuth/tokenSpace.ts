import type { PolicyTools } from '../policy.ts';
import { oncePerProcess } from '../oncePerProcess.ts';

/** Characters of all tokens that the policies of one tenant may keep in a process. */
const mostCharacters = 8_388_608;

/** The memory for the tokens of one tenant: its own authorization server decides how many and how long they are. */
export class TokenSpace {
  private static readonly all = oncePerProcess(() => new Map<string, TokenSpace>());
  private used = 0;

  /** @returns undefined for the policies of an operator, who decides by `cache.maxEntries` */
  static of({ keySets, tenant }: Pick<PolicyTools, 'keySets' | 'tenant'>): TokenSpace | undefined {
    if (tenant === undefined) return undefined;
    const all = TokenSpace.all(keySets);
    let space = all.get(tenant);
    if (space === undefined) all.set(tenant, (space = new TokenSpace()));
    return space;
  }

  /** @returns false where there is no room */
  take(characters: number): boolean {
    if (this.used + characters > mostCharacters) return false;
    this.used += characters;
    return true;
  }

  giveBack(characters: number): void {
    this.used -= characters;
  }
}
