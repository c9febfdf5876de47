import { createHash } from 'node:crypto';

/** MCP, Tools, "Tool Names". */
const maxLength = 128;
const hashLength = 8;
const isName = /^[A-Za-z0-9_.-]{1,128}$/;

/**
 * The name of the tool of an operation: its id, or its method and path. Every run of characters that names of tools
 * cannot have becomes `_`; a name that is too long ends with a digest of the whole.
 */
export function toolName(operationId: unknown, method: string, path: string): string {
  const hasId = typeof operationId === 'string' && operationId.trim() !== '';
  const wanted = hasId ? operationId : `${method.toLowerCase()}${path}`;
  if (isName.test(wanted)) return wanted;
  const name = wanted.replaceAll(/[^A-Za-z0-9_.-]+/g, '_').replaceAll(/^_+|_+$/g, '');
  if (isName.test(name)) return name;
  const digest = createHash('sha256').update(wanted).digest('hex').slice(0, hashLength);
  return `${name === '' ? 'operation' : name.slice(0, maxLength - hashLength - 1)}_${digest}`;
}
