import { ValueTree } from '../parts/ValueTree.tsx';
import { Tag } from '../parts/Tag.tsx';
import { blockIn, textIn } from './serverData.ts';

interface Result {
  readonly isError?: unknown;
  readonly content?: unknown;
  readonly contents?: unknown;
  readonly messages?: unknown;
  readonly structuredContent?: unknown;
}

/** A block with the role or the address that stands above it. */
interface Shown {
  readonly head: string | undefined;
  readonly block: unknown;
}

/** Pictures that browsers show without running anything. */
const pictures: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);
const sounds: ReadonlySet<string> = new Set([
  'audio/mpeg',
  'audio/mp4',
  'audio/ogg',
  'audio/wav',
  'audio/webm',
]);

/** The result of a call, a resource or a prompt. Nothing of a server runs in the page. */
export function ResultView({ result }: { result: unknown }) {
  const { isError, structuredContent, ...parts } = Object(result) as Result;
  const blocks = blocksOf(parts);
  return (
    <section aria-label="Result">
      {isError === true && <Tag tone="bad">the tool reports an error</Tag>}
      {blocks?.map(({ head, block }, at) => (
        // eslint-disable-next-line react/no-array-index-key -- blocks have no id, and never move
        <div key={at}>
          {head !== undefined && <p className="quiet wrap">{head}</p>}
          <BlockView block={block} />
        </div>
      ))}
      {structuredContent !== undefined && (
        <>
          <p className="quiet">Structured output</p>
          <ValueTree value={structuredContent} label="Structured output" />
        </>
      )}
      <details open={blocks === undefined}>
        <summary>Whole result</summary>
        <ValueTree value={result} label="Result as JSON" />
      </details>
    </section>
  );
}

/** The blocks of a result in their order; undefined for a result of another form. */
function blocksOf({ content, contents, messages }: Result): readonly Shown[] | undefined {
  if (Array.isArray(content))
    return (content as readonly unknown[]).map((block) => ({ head: undefined, block }));
  if (Array.isArray(contents))
    return (contents as readonly unknown[]).map((block) => {
      const { uri, mimeType } = blockIn(block);
      return { head: [uri, mimeType].filter((part) => part !== undefined).join(' · '), block };
    });
  if (!Array.isArray(messages)) return undefined;
  return (messages as readonly unknown[]).map((message) => {
    const { role, content: block = {} } = Object(message) as { role?: unknown; content?: unknown };
    return { head: textIn(role), block };
  });
}

function BlockView({ block }: { block: unknown }) {
  const { type, text, blob, mimeType = '', resource, data = blob } = blockIn(block);
  if (resource !== undefined && type === 'resource') return <BlockView block={resource} />;
  if (text !== undefined && mimeType.startsWith('text/html'))
    // Without scripts, forms and an origin of its own.
    return <iframe className="frame" sandbox="" srcDoc={text} title="Page that the server returned" />;
  if (text !== undefined) return <pre className="lines">{text}</pre>;
  if (data !== undefined && pictures.has(mimeType))
    return <img src={`data:${mimeType};base64,${data}`} alt="Content that the server returned" />;
  if (data !== undefined && sounds.has(mimeType))
    return (
      <audio controls src={`data:${mimeType};base64,${data}`} aria-label="Sound that the server returned" />
    );
  return <ValueTree value={block} label="Content" />;
}
