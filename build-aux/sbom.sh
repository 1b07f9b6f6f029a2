#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sbom.sh - the parts of a tarball with their licences, as SPDX 2.3 tags.
#
# usage: sbom.sh TARBALL VERSION SECONDS
#
# SECONDS are those since 1970 of the release, so that the same release always
# has the same text. Libraries that are linked or opened are not in the tarball:
# doc/dependencies.md lists them.
set -eu
tarball=$1 version=$2 seconds=$3
sum=$(sha256sum "$tarball")
sum=${sum%% *}
data=sesqui-$version/examples/data/digits.csv.gz
data_sum=$(tar -xOzf "$tarball" "$data" | sha256sum)
cat <<END
SPDXVersion: SPDX-2.3
DataLicense: CC0-1.0
SPDXID: SPDXRef-DOCUMENT
DocumentName: sesqui-$version
DocumentNamespace: https://sesqui.example/spdx/sesqui-$version-$sum
Creator: Tool: sbom.sh-$version
Created: $(date -u -d "@$seconds" +%Y-%m-%dT%H:%M:%SZ)
Relationship: SPDXRef-DOCUMENT DESCRIBES SPDXRef-sesqui

PackageName: sesqui
SPDXID: SPDXRef-sesqui
PackageVersion: $version
PackageFileName: ${tarball##*/}
PackageDownloadLocation: NOASSERTION
PackageChecksum: SHA256: $sum
FilesAnalyzed: false
PackageLicenseConcluded: Apache-2.0 AND CC-BY-4.0
PackageLicenseDeclared: Apache-2.0 AND CC-BY-4.0
PackageCopyrightText: NOASSERTION
Relationship: SPDXRef-sesqui CONTAINS SPDXRef-digits

PackageName: optical-recognition-of-handwritten-digits
SPDXID: SPDXRef-digits
PackageFileName: $data
PackageDownloadLocation: https://doi.org/10.24432/C50P49
PackageChecksum: SHA256: ${data_sum%% *}
FilesAnalyzed: false
PackageLicenseConcluded: CC-BY-4.0
PackageLicenseDeclared: CC-BY-4.0
PackageCopyrightText: 1998 E. Alpaydin and C. Kaynak
END
