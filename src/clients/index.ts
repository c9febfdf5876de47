export { mcpSnippets } from './snippets.ts';
