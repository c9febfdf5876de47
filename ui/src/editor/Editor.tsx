import type { Extension } from '@codemirror/state';
import { Annotation, Compartment } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { useEffect, useRef } from 'react';
import { basics } from './basics.ts';

/** Marks a change that the caller has made. */
const ofCaller = Annotation.define<true>();

/** A text editor. The caller owns the text; the editor reports each change that somebody makes in it. */
export function Editor(props: {
  value: string;
  onChange: (value: string) => void;
  label: string;
  /** Must stay the same object as long as nothing changes. */
  extensions: Extension;
  height?: string;
  /** A part of the text to select and show, each time that it is another object. */
  select?: { readonly from: number; readonly to: number } | undefined;
}) {
  const { value, onChange, label, extensions, height = '55vh', select } = props;
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const changing = useRef(new Compartment());
  const report = useRef(onChange);
  const first = useRef({ value, extensions, label });
  useEffect(() => {
    report.current = onChange;
  });
  useEffect(() => {
    if (place.current === null) return undefined;
    const { current: start } = first;
    const made = new EditorView({
      parent: place.current,
      doc: start.value,
      extensions: [
        basics(start.label),
        changing.current.of(start.extensions),
        EditorView.updateListener.of((update) => {
          const isOwn = update.transactions.some((one) => one.annotation(ofCaller) === true);
          if (update.docChanged && !isOwn) report.current(update.state.doc.toString());
        }),
      ],
    });
    view.current = made;
    return () => {
      made.destroy();
      view.current = undefined;
    };
  }, []);
  useEffect(
    () => view.current?.dispatch({ effects: changing.current.reconfigure(extensions) }),
    [extensions],
  );
  useEffect(() => {
    const { current: shown } = view;
    if (shown === undefined || shown.state.doc.toString() === value) return;
    shown.dispatch({
      changes: { from: 0, to: shown.state.doc.length, insert: value },
      annotations: ofCaller.of(true),
    });
  }, [value]);
  useEffect(() => {
    const { current: shown } = view;
    if (shown === undefined || select === undefined) return;
    const { length } = shown.state.doc;
    const anchor = Math.min(select.from, length);
    shown.dispatch({
      selection: { anchor, head: Math.min(select.to, length) },
      effects: EditorView.scrollIntoView(anchor, { y: 'center' }),
    });
    shown.focus();
  }, [select]);
  return <div ref={place} className="editor" style={{ height }} />;
}
