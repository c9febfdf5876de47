import type { KnownMembers } from './celWords.ts';
import { claimsOf } from './claimsOf.ts';
import { argumentsIn } from './requestText.ts';

/** The claims and the arguments that stand on the page, as members of their variables. */
export function knownMembers(claims: string, request: string): KnownMembers {
  const names = claimNames(claims);
  return { jwt: names, 'auth.claims': names, 'mcp.tool.arguments': Object.keys(argumentsIn(request)) };
}

/** A text that is no JSON yet has no names. */
function claimNames(text: string): readonly string[] {
  try {
    return Object.keys(claimsOf(text, '') ?? {});
  } catch {
    return [];
  }
}
