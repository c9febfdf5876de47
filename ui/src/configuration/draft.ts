import type { ConfigText } from '../api/types.ts';

/** The draft of the page Configuration has the path of the page. */
export const configurationPage = '/configuration';

/** An edit, and the version of the file that it is made from. */
export interface Draft {
  readonly base: Pick<ConfigText, 'text' | 'etag'>;
  readonly text: string;
}
