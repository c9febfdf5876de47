import { Stack, Tabs, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useSession } from '../api/queries.ts';
import type { RouteView } from '../api/types.ts';
import { CopyText } from '../parts/CopyText.tsx';
import { Note } from '../parts/Note.tsx';
import { PageTitle } from '../parts/PageTitle.tsx';
import { RouteChooser } from '../parts/RouteChooser.tsx';
import { Reachability } from './Reachability.tsx';
import { clientName, httpSnippets, mcpSnippets } from '../../../src/clients/snippets.ts';
import { loginOf } from './credentials.ts';

/** Snippets that connect clients to a route. */
export const ConnectPage = () => (
  <Stack gap="md">
    <PageTitle about="Settings for clients, for the chosen route and its authentication.">Connect</PageTitle>
    <RouteChooser>{(route) => <RouteSnippets key={route.id} route={route} />}</RouteChooser>
  </Stack>
);

function RouteSnippets({ route }: { route: RouteView }) {
  const [url, setUrl] = useState(route.urls[0] ?? '');
  /** Only an operator may send requests. */
  const isOperator = useSession().data?.role === 'operator';
  const endpoint = { name: clientName(route.id), url, login: loginOf(route) };
  const snippets = route.kind === 'mcp' ? mcpSnippets(endpoint) : httpSnippets(endpoint);
  return (
    <>
      <TextInput
        label="Address that clients use"
        description="Change it where clients reach the gateway through another name, such as that of a load balancer."
        maw={560}
        value={url}
        onChange={({ currentTarget }) => setUrl(currentTarget.value)}
      />
      <Authentication route={route} />
      <Tabs defaultValue={tabOf(snippets[0]?.client ?? '')} key={route.kind} keepMounted={false}>
        <Tabs.List mb="sm">
          {snippets.map(({ client }) => (
            <Tabs.Tab key={client} value={tabOf(client)}>
              {client}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map(({ client, use, text }) => (
          <Tabs.Panel key={client} value={tabOf(client)}>
            <p className="quiet">{use}</p>
            <CopyText text={text} label={`settings for ${client}`} />
          </Tabs.Panel>
        ))}
      </Tabs>
      {isOperator && <Reachability route={route} />}
    </>
  );
}

/** Ids have no spaces. */
const tabOf = (client: string): string => client.replaceAll(' ', '-');

function Authentication({ route: { authentication } }: { route: RouteView }) {
  if (authentication === null)
    return <Note tone="warn">The route has no authentication: every client that reaches it may use it.</Note>;
  const { kind, issuers, audiences, clientScopes, guidesClients, header } = authentication;
  const lists = [
    ['Issuers', issuers],
    ['Audiences', audiences],
    ['Scopes that clients ask for', clientScopes],
  ] as const;
  return (
    <Note>
      <p>
        Authentication: <b>{kind}</b>
        {header === undefined
          ? '. The credential stands in no header, so these settings lack it.'
          : guidesClients
            ? ''
            : `, in the header ${header.name}`}
      </p>
      <ul>
        {lists
          .filter(([, values]) => values.length > 0)
          .map(([name, values]) => (
            <li key={name}>
              {name}: <span className="mono">{values.join(', ')}</span>
            </li>
          ))}
      </ul>
    </Note>
  );
}
