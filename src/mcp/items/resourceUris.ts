/** The places where results and requests of a server name resources, beside the lists of them. */

import { memberOf, stringValue, type Envelope, type Span } from '../json/envelope.ts';
import { objectMembers } from '../json/objectMembers.ts';
import { Elements, type Edit } from '../json/scan.ts';
import type { Naming } from './naming.ts';
import type { MemberView } from '../json/responseScan.ts';
import { filteredMember, type FilteredResponse, type ResponseFilter } from './responseFilter.ts';

const OPEN_LIST = 0x5b;

/** Collects the edits that put the client's URIs in place of a target's. */
class UriEdits {
  readonly edits: Edit[] = [];
  private readonly text: string;
  private readonly shown: (uri: string) => string;

  constructor(text: string, shown: (uri: string) => string) {
    this.text = text;
    this.shown = shown;
  }

  member(within: Span | undefined, name: string): Span | undefined {
    const found = memberOf(this.text, within, name);
    return found === 'ambiguous' ? undefined : found;
  }

  /** The URI in a member of an object. */
  uri(within: Span | undefined, name: string): void {
    const place = this.member(within, name);
    const uri = stringValue(this.text, place);
    if (place === undefined || uri === undefined) return;
    const { start, end } = place;
    this.edits.push({ start, end, replacement: JSON.stringify(this.shown(uri)) });
  }

  /** A list in a member, or the one object that stands there in its place. */
  each(within: Span | undefined, name: string, then: (element: Span) => void): void {
    const place = this.member(within, name);
    if (place === undefined) return;
    if (this.text.charCodeAt(place.start) !== OPEN_LIST) {
      then(place);
      return;
    }
    const elements = new Elements(this.text, place.start);
    while (elements.next()) then({ start: elements.start, end: elements.end });
  }

  /** Blocks of content: links to resources, embedded resources, and results of tools that hold such blocks. */
  content(within: Span | undefined, isInToolResult = false): void {
    this.each(within, 'content', (block) => {
      const type = stringValue(this.text, this.member(block, 'type'));
      if (type === 'resource_link') this.uri(block, 'uri');
      else if (type === 'resource') this.uri(this.member(block, 'resource'), 'uri');
      // MCP has none within another one, and each level would be read once more.
      else if (type === 'tool_result' && !isInToolResult) this.content(block, true);
    });
  }

  /** Questions of a modern server, which may have messages for a model. */
  questions(within: Span | undefined): void {
    const place = this.member(within, 'inputRequests');
    for (const { value } of (place && objectMembers(this.text, place)) ?? [])
      this.each(this.member(value, 'params'), 'messages', (message) => this.content(message));
  }

  /** The page that MCP Apps show for a tool, in its present form and in the first one. */
  app(within: Span | undefined): void {
    const meta = this.member(within, '_meta');
    this.uri(this.member(meta, 'ui'), 'resourceUri');
    this.uri(meta, 'ui/resourceUri');
    // The same of the Apps SDK of OpenAI.
    this.uri(meta, 'openai/outputTemplate');
  }
}

const mayNameResource = /uri"|outputTemplate"/i;

/**
 * The edits in the result of a call, a prompt, a task or a read, or in the params of a request for sampling.
 * @param body the place of the result, or of the params
 */
export function uriEdits(
  text: string,
  body: Span | undefined,
  shown: (uri: string) => string,
): readonly Edit[] {
  // Most messages name no resource.
  if (!mayNameResource.test(text)) return [];
  const found = new UriEdits(text, shown);
  found.content(body);
  found.each(body, 'messages', (message) => found.content(message));
  // A task of the tasks extension holds the result of its call.
  found.content(found.member(body, 'result'));
  found.questions(body);
  found.each(body, 'contents', (content) => found.uri(content, 'uri'));
  found.app(body);
  return found.edits;
}

/** The edits in an item of a list: the page of an app. The name of the item is not among them. */
export function appUriEdits(text: string, item: Span, shown: (uri: string) => string): readonly Edit[] {
  if (!/resourceUri"|outputTemplate"/i.test(text)) return [];
  const found = new UriEdits(text, shown);
  found.app(item);
  return found.edits;
}

/** The members of a result that name resources. */
const listsOfContents: ReadonlySet<string> = new Set(['content', 'messages', 'contents']);
const namingResources: ReadonlySet<string> = new Set([...listsOfContents, '_meta']);

/** Puts the client's URIs into the response of one target of several. */
export class ResourceUriFilter implements ResponseFilter {
  private readonly naming: Naming;
  private readonly target: string;

  constructor(naming: Naming, target: string) {
    this.naming = naming;
    this.target = target;
  }

  filter({ text, body }: Envelope): FilteredResponse {
    return { edits: uriEdits(text, body, (uri) => this.naming.shownUri(this.target, uri)) };
  }

  readonly ofMembers: MemberView = {
    watched: namingResources,
    filterMember: (name, value) => filteredMember(this, name, value),
    elements: {
      lists: listsOfContents,
      // All other elements name resources, or hold blocks that may name resources.
      passes: (head) => /^\{\s*"type"\s*:\s*"(?:text|image|audio)"/.test(head),
      filterElement: (list, value) =>
        mayNameResource.test(value) ? filteredMember(this, list, `[${value}]`)?.slice(1, -1) : value,
    },
  };
}
