import {
  AppShell,
  Burger,
  Button,
  Group,
  Loader,
  NavLink,
  Stack,
  useMantineColorScheme,
  type MantineColorScheme,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { Suspense } from 'react';
import { Link, Route, Switch, useLocation } from 'wouter';
import { isLoggedOut, queryClient, useSession } from './api/queries.ts';
import { ask } from './api/client.ts';
import type { Session } from './api/types.ts';
import { LoginPage } from './LoginPage.tsx';
import { pages } from './pages.ts';
import { ErrorBoundary } from './parts/ErrorBoundary.tsx';
import { Loaded } from './parts/Loaded.tsx';
import { Note } from './parts/Note.tsx';
import { Tag } from './parts/Tag.tsx';
import { useUnsaved } from './parts/drafts.ts';

/** The frame around the pages: menu, colour scheme, session. */
export function App() {
  const session = useSession();
  if (isLoggedOut(session.error)) return <LoginPage />;
  return (
    <Loaded query={session} doing="Opening the session">
      {(held) => <Frame session={held} />}
    </Loaded>
  );
}

function Frame({ session }: { session: Session }) {
  const [opened, { toggle, close }] = useDisclosure(false);
  const [path] = useLocation();
  useHotkeys([['Escape', close]], []);
  return (
    <AppShell
      header={{ height: 52 }}
      navbar={{ width: 190, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger
              opened={opened}
              onClick={toggle}
              hiddenFrom="sm"
              size="sm"
              aria-label="Menu"
              aria-expanded={opened}
            />
            <strong>Portcullis</strong>
            <span title={session.whyReadOnly}>
              <Tag tone={session.canWrite ? 'info' : 'plain'}>
                {session.canWrite ? session.role : `${session.role}, read-only`}
              </Tag>
            </span>
          </Group>
          <SchemeButton />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        <Menu onChoose={close} />
        <LogoutButton session={session} />
      </AppShell.Navbar>
      <AppShell.Main>
        <ErrorBoundary key={path} what="this page">
          <Suspense fallback={<Loader size="sm" aria-label="Loading the page" />}>
            <Switch>
              {pages.map((page) => (
                <Route key={page.path} path={page.path} component={page.view} />
              ))}
              <Route>
                <Note tone="warn">The console has no page at this address.</Note>
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </AppShell.Main>
    </AppShell>
  );
}

function Menu({ onChoose }: { onChoose: () => void }) {
  const [path] = useLocation();
  const unsaved = useUnsaved();
  return (
    <Stack gap={2} flex={1}>
      {pages.map((page) => (
        <NavLink
          key={page.path}
          component={Link}
          href={page.path}
          label={page.name}
          description={unsaved.includes(page.path) ? 'unsaved edit' : undefined}
          className="menu"
          active={page.path === path}
          {...(page.path === path ? { 'aria-current': 'page' as const } : {})}
          onClick={onChoose}
        />
      ))}
    </Stack>
  );
}

/** A login by a policy of the route ends at its own address, and a password stays in the browser. */
function LogoutButton({ session: { by, logoutPath } }: { session: Session }) {
  const leave = async (): Promise<void> => {
    if (logoutPath !== undefined) {
      location.assign(logoutPath);
      return;
    }
    await ask('session', { method: 'DELETE' });
    queryClient.clear();
    await queryClient.resetQueries();
    location.assign('/ui/');
  };
  if (by === 'gateway' && logoutPath === undefined) return null;
  return (
    <Button variant="subtle" size="compact-sm" onClick={() => void leave()}>
      End session
    </Button>
  );
}

const nextScheme: Readonly<Record<MantineColorScheme, MantineColorScheme>> = {
  auto: 'light',
  light: 'dark',
  dark: 'auto',
};
const schemeNames: Readonly<Record<MantineColorScheme, string>> = {
  auto: 'System',
  light: 'Light',
  dark: 'Dark',
};

function SchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Button
      variant="default"
      size="compact-sm"
      onClick={() => setColorScheme(nextScheme[colorScheme])}
      flex="none"
    >
      Colours: {schemeNames[colorScheme]}
    </Button>
  );
}
