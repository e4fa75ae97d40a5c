import { defineExampleTests } from './support/example-apps';

/** The apps of examples/ as processes that are killed, from their sources. */
defineExampleTests('kill');
