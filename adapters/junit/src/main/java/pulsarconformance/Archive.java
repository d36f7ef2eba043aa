package pulsarconformance;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.zip.GZIPInputStream;

/** The archive that {@code nox -s fixtures} writes. */
final class Archive {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int BLOCK = 512;

    private Archive() {}

    /** Reads the JSON files of a .tar.gz with plain names, as the archive has. */
    static Map<String, JsonNode> read(Path archive) {
        Map<String, JsonNode> found = new HashMap<>();
        try (var in = new DataInputStream(new GZIPInputStream(Files.newInputStream(archive)))) {
            byte[] head = new byte[BLOCK];
            for (in.readFully(head); head[0] != 0; in.readFully(head)) {
                String name = text(head, 0, 100);
                String before = text(head, 345, 155);
                int size = Integer.parseInt(text(head, 124, 12).strip(), 8);
                byte[] content = in.readNBytes(size);
                in.skipNBytes((BLOCK - size % BLOCK) % BLOCK);
                if (name.endsWith(".json")) {
                    found.put(before.isEmpty() ? name : before + "/" + name, JSON.readTree(content));
                }
            }
        } catch (NoSuchFileException wrong) {
            throw new UncheckedIOException(archive + ": there is no such file; nox -s fixtures makes it", wrong);
        } catch (IOException wrong) {
            throw new UncheckedIOException(archive + ": it is not an archive that nox -s fixtures wrote", wrong);
        }
        return found;
    }

    private static String text(byte[] head, int from, int length) {
        int end = from;
        while (end < from + length && head[end] != 0) {
            end++;
        }
        return new String(head, from, end - from, StandardCharsets.UTF_8);
    }
}
