import { ValueTree } from '../parts/ValueTree.tsx';
import { Tag } from '../parts/Tag.tsx';

interface Block {
  readonly type?: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string;
}

/** Pictures that browsers show without running anything. */
const pictures: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

/** The result of a call. Texts are shown as texts, so nothing of a server runs in the page. */
export function ResultView({ result }: { result: unknown }) {
  const { content, isError } = Object(result) as {
    readonly content?: unknown;
    readonly isError?: unknown;
  };
  const blocks = Array.isArray(content) ? (content as readonly Block[]) : undefined;
  return (
    <section aria-label="Result">
      {isError === true && <Tag tone="bad">the tool reports an error</Tag>}
      {blocks?.map((block, at) => (
        // eslint-disable-next-line react/no-array-index-key -- blocks have no id, and never move
        <BlockView key={at} block={block} />
      ))}
      <details open={blocks === undefined}>
        <summary>Whole result</summary>
        <ValueTree value={result} label="Result as JSON" />
      </details>
    </section>
  );
}

function BlockView({ block }: { block: Block }) {
  const { type, text, data, mimeType = '' } = block;
  if (type === 'text' && text !== undefined) return <pre className="lines">{text}</pre>;
  if (type === 'image' && data !== undefined && pictures.has(mimeType))
    return <img src={`data:${mimeType};base64,${data}`} alt="Content that the tool returned" />;
  return <ValueTree value={block} label="Content" />;
}
