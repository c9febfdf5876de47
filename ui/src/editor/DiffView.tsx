import { yaml } from '@codemirror/lang-yaml';
import { unifiedMergeView } from '@codemirror/merge';
import { EditorState } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { basics } from './basics.ts';

/** The difference between two texts: deleted lines stand above the lines that replace them. */
export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (place.current === null) return undefined;
    const made = new EditorView({
      parent: place.current,
      doc: after,
      extensions: [
        basics(label),
        yaml(),
        EditorState.readOnly.of(true),
        unifiedMergeView({
          original: before,
          mergeControls: false,
          gutter: true,
          collapseUnchanged: { margin: 3, minSize: 4 },
        }),
      ],
    });
    return () => made.destroy();
  }, [before, after, label]);
  return <div ref={place} className="editor" style={{ maxHeight: '45vh', overflow: 'auto' }} />;
}
