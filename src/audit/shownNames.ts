import { hiddenBeginning, hideSecretForms, secretsGeneration } from '../telemetry/index.ts';

/** Names that are kept, and characters of each. */
const most = { names: 2_048, length: 128 };

const kept = new Map<string, string>();
let generation = secretsGeneration();

/**
 * The JSON text of a name that a client wrote, without secrets. The names of tools and of their arguments come again and
 * again, and the search for secrets costs more than the rest of a line. The results are valid for the secrets that the
 * process knew then.
 * @param maxLength in characters; not below the length of names that are kept
 */
export function shownName(name: string, maxLength: number): string {
  if (name.length > most.length) return JSON.stringify(hiddenBeginning(name, maxLength));
  if (generation !== secretsGeneration()) {
    generation = secretsGeneration();
    kept.clear();
  }
  const known = kept.get(name);
  if (known !== undefined) return known;
  const shown = JSON.stringify(hideSecretForms(name));
  // A client that invents names only costs the work that all names would cost.
  if (kept.size >= most.names) kept.clear();
  kept.set(name, shown);
  return shown;
}
