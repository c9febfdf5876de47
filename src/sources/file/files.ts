/** Every `{file: …}` of the policies in a document; they are watched together with the configuration. */
export function files(document: unknown): readonly string[] {
  const found = new Set<string>();
  collect(document, false, found);
  return [...found];
}

function collect(value: unknown, inPolicy: boolean, found: Set<string>): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    if (inPolicy && key === 'file' && typeof inner === 'string') found.add(inner);
    else collect(inner, inPolicy || key === 'policies' || key === 'gateways', found);
  }
}
