// Says beside the built files what they were built from, so that a test can tell when they are stale.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(fileURLToPath(import.meta.url));
const named = ['index.html', 'package.json', 'vite.config.ts', 'tsconfig.json'];
const inside = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)).split(sep).join('/'));
const hash = createHash('sha256');
for (const name of [...named, ...inside].sort((a, b) => (a < b ? -1 : 1))) {
  hash.update(`${name}\0`).update(readFileSync(join(root, name))).update('\0');
}
const sources = hash.digest('hex');
writeFileSync(join(root, '../src/stead/console/static/build.json'), `${JSON.stringify({ sources })}\n`);
