import { Scalar } from 'yaml';

/** Reads a plain scalar by the YAML 1.2 core schema, as the parser would have had it stood there by itself. */
export function readPlain(text: string): string | number | boolean | null {
  if (/^(?:~|null|Null|NULL|)$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^[-+]?\d+$/.test(text) || /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/.test(text))
    return Number(text);
  if (/^0o[0-7]+$/.test(text) || /^0x[0-9a-fA-F]+$/.test(text)) return Number(text);
  if (/^[-+]?\.(?:inf|Inf|INF)$/.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
  if (/^\.(?:nan|NaN|NAN)$/.test(text)) return Number.NaN;
  return text;
}

const oneCharacterEscape = /\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[^\n])/y;

/**
 * The place in the file of the character at `offset` of a scalar's value. Exact for plain and quoted scalars on
 * one line and for literal blocks (`|`); the beginning of the scalar for forms that fold lines.
 */
export function sourceOffset(node: Scalar.Parsed, source: string, offset: number): number {
  const start = node.range[0];
  const written = source.slice(start, node.range[1]);
  switch (node.type) {
    case Scalar.PLAIN:
      return written.includes('\n') ? start : start + offset;
    case Scalar.QUOTE_SINGLE:
      return written.includes('\n') ? start : start + 1 + stepped(written.slice(1), offset, /''/y);
    case Scalar.QUOTE_DOUBLE:
      return written.includes('\n')
        ? start
        : start + 1 + stepped(written.slice(1), offset, oneCharacterEscape);
    case Scalar.BLOCK_LITERAL:
      return start + inBlock(written, offset);
    default:
      return start;
  }
}

/** Length of the source that makes up the first `offset` characters, where `escape` stands for one of them. */
function stepped(written: string, offset: number, escape: RegExp): number {
  let at = 0;
  for (let character = 0; character < offset && at < written.length; character++) {
    escape.lastIndex = at;
    const found = escape.exec(written);
    at += found === null ? 1 : found[0].length;
  }
  return at;
}

function inBlock(written: string, offset: number): number {
  const lines = written.split('\n');
  const body = lines.slice(1);
  const header = lines[0] ?? '';
  const given = /\d/.exec(header);
  const first = body.find((line) => line.trim() !== '') ?? '';
  // An explicit indentation counts from the parent, which the text of the scalar does not show.
  if (given !== null) return 0;
  const indent = first.length - first.trimStart().length;
  let at = header.length + 1;
  let left = offset;
  for (const line of body) {
    const content = Math.max(0, line.length - indent);
    if (left <= content) return at + Math.min(indent, line.length) + left;
    left -= content + 1;
    at += line.length + 1;
  }
  return 0;
}
