export {
  clientName,
  httpSnippets,
  mcpSnippets,
  type ClientLogin,
  type Endpoint,
  type Snippet,
} from './snippets.ts';
