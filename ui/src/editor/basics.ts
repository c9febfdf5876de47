import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { lintKeymap } from '@codemirror/lint';
import { searchKeymap } from '@codemirror/search';
import type { Extension } from '@codemirror/state';
import { drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { nonce } from '../nonce.ts';

/** Colours of code, in both colour schemes. */
const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--tone-info)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--tone-good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--tone-warn)' },
  { tag: [tags.keyword, tags.operatorKeyword], color: 'var(--tone-bad)' },
  { tag: tags.comment, color: 'var(--mantine-color-dimmed)', fontStyle: 'italic' },
]);

const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--mantine-color-body)', color: 'var(--mantine-color-text)' },
  // The frame of the editor shows the focus: gutters and the active line would cover an outline inside of it.
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: '13px' },
  '.cm-content': { caretColor: 'var(--mantine-color-text)' },
  '.cm-cursor': { borderLeftColor: 'var(--mantine-color-text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-dimmed)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--active-line)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--tone-info-back)',
  },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--mantine-color-body)',
    color: 'var(--mantine-color-text)',
    border: '1px solid var(--line)',
  },
  '.cm-tooltip-autocomplete ul li[aria-selected]': {
    backgroundColor: 'var(--tone-info-back)',
    color: 'var(--mantine-color-text)',
  },
  '.cm-collapsedLines::before, .cm-collapsedLines::after': { content: '"⋯"' },
  '.cm-completionDetail': { color: 'var(--mantine-color-dimmed)' },
});

/**
 * Replaces a selection by the typed text. Chromium would keep the style of the selection in a style attribute, which the
 * policy of the page forbids.
 */
const typeOverSelection = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    const { data, inputType } = event;
    const { from, to, empty } = view.state.selection.main;
    if (inputType !== 'insertText' || data === null || empty || view.composing) return false;
    event.preventDefault();
    const insert = (): ReturnType<typeof view.state.update> =>
      view.state.update(view.state.replaceSelection(data), { userEvent: 'input.type', scrollIntoView: true });
    const handled = view.state
      .facet(EditorView.inputHandler)
      .some((handler) => handler(view, from, to, data, insert));
    if (!handled) view.dispatch(insert());
    return true;
  },
});

/** The parts of every editor. Tab leaves the editor, so that the keyboard reaches the rest of the page. */
export const basics = (label: string): Extension => [
  EditorView.cspNonce.of(nonce()),
  EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' }),
  EditorView.lineWrapping,
  lineNumbers(),
  history(),
  drawSelection(),
  bracketMatching(),
  closeBrackets(),
  highlightActiveLine(),
  syntaxHighlighting(colours),
  look,
  typeOverSelection,
  keymap.of([
    ...closeBracketsKeymap,
    ...defaultKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...completionKeymap,
    ...lintKeymap,
  ]),
];
